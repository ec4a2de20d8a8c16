import { cpSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { InputError } from '../model/errors.ts';
import { didYouMean } from '../model/text/nearest-word.ts';
import { entriesOf } from './find-workflows-prompts-scripts.ts';

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
  const entries = await entriesOf(dir);
  if (entries.some((entry) => entry.name === 'SKILL.md')) return [dir];
  if (depth === 0) return [];
  const inside = entries
    .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .map(({ name }) => name);
  const all = await Promise.all(inside.sort().map((name) => skillDirs(join(dir, name), depth - 1)));
  return all.flat();
}

async function readSkill(dir: string): Promise<Skill> {
  const file = join(dir, 'SKILL.md');
  const text = await readFile(file, 'utf8');
  const yaml = /^---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text)?.[1];
  const { parseYaml } = await import('../config/parse-yaml-and-place-problems.ts');
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

export interface InstalledSkill {
  name: string;
  path: string;
  /** `kept`: it was changed there, so it was not overwritten. */
  did: 'installed' | 'updated' | 'unchanged' | 'kept';
}

/** Where agents look for skills, from a project or a home. */
const SKILL_PLACES = ['.claude/skills', '.agents/skills'] as const;

/** Copies skills to where agents look for them. Calling it again changes nothing; what was changed there stays. */
export function installSkills(
  skills: readonly Skill[],
  options: { root: string; names: readonly string[]; force: boolean },
): InstalledSkill[] {
  const known = skills.map(({ name }) => name);
  for (const name of options.names)
    if (!known.includes(name))
      throw new InputError('skills/unknown', `There is no skill "${name}".${didYouMean(name, known)}`, {
        hint: `Skills: ${known.join(', ')}.`,
      });
  const wanted = skills.filter(({ name }) => options.names.length === 0 || options.names.includes(name));
  return wanted.flatMap((skill) =>
    SKILL_PLACES.map((place) => install(skill, join(options.root, place, skill.name), options.force)),
  );
}

function install({ name, dir }: Skill, path: string, force: boolean): InstalledSkill {
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  if (isThere && isSame(dir, path)) return { name, path, did: 'unchanged' };
  if (isThere && !force) return { name, path, did: 'kept' };
  cpSync(dir, path, { recursive: true });
  return { name, path, did: isThere ? 'updated' : 'installed' };
}

/** Whether every file of one directory is in the other as it is. */
function isSame(from: string, to: string): boolean {
  return filesIn(from).every((file) => {
    const other = join(to, relative(from, file));
    return (
      statSync(other, { throwIfNoEntry: false })?.isFile() && readFileSync(file).equals(readFileSync(other))
    );
  });
}

function filesIn(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesIn(join(dir, entry.name)) : [join(dir, entry.name)],
  );
}
