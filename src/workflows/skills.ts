import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { InputError } from '../model/errors.ts';

/** Instructions for agents: a directory with a SKILL.md that begins with `name` and `description`. */
export interface Skill {
  name: string;
  description: string;
  dir: string;
  file: string;
}

const DEPTH = 3;

/** Every skill of the directories, by name; the first directory that has one wins. */
export async function listSkills(dirs: readonly string[]): Promise<Skill[]> {
  const found = new Map<string, Skill>();
  for (const root of dirs)
    for (const dir of await skillDirs(root, DEPTH)) {
      const skill = await readSkill(dir);
      if (!found.has(skill.name)) found.set(skill.name, skill);
    }
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name));
}

async function skillDirs(dir: string, depth: number): Promise<string[]> {
  let entries: Awaited<ReturnType<typeof list>>;
  try {
    entries = await list(dir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
  if (entries.some((entry) => entry.name === 'SKILL.md')) return [dir];
  if (depth === 0) return [];
  const inside = entries
    .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .map(({ name }) => name);
  const all = await Promise.all(inside.sort().map((name) => skillDirs(join(dir, name), depth - 1)));
  return all.flat();
}

async function list(dir: string) {
  const entries = await readdir(dir, { withFileTypes: true });
  return entries.filter((entry) => !entry.name.startsWith('.'));
}

async function readSkill(dir: string): Promise<Skill> {
  const file = join(dir, 'SKILL.md');
  const text = await readFile(file, 'utf8');
  const yaml = /^---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text)?.[1];
  const { parseYaml } = await import('../config/yaml-source.ts');
  const data = yaml === undefined ? null : parseYaml(`\n${yaml}`, file).data;
  const { name, description } = Object(data) as { name?: unknown; description?: unknown };
  if (typeof name !== 'string' || typeof description !== 'string' || !/^[a-z0-9][a-z0-9-]{0,63}$/.test(name))
    throw new InputError(
      'skill/front-matter',
      `${file}:1: The skill does not begin with its name and description.`,
      {
        hint: `Begin it with:\n---\nname: ${basename(dir)}\ndescription: What it is for and when to use it.\n---`,
        details: { file },
      },
    );
  return { name, description: description.trim().replace(/\s+/g, ' '), dir, file };
}
