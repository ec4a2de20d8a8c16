import { cpSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { InputError } from '../model/errors.ts';
import { didYouMean } from '../model/text/near.ts';
import type { Skill } from './skills.ts';

export interface InstalledSkill {
  name: string;
  path: string;
  /** `kept`: somebody has changed it there, so it was left alone. */
  did: 'installed' | 'updated' | 'unchanged' | 'kept';
}

/** Where agents look for skills, from a project or a home. */
export const SKILL_PLACES = ['.claude/skills', '.agents/skills'] as const;

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
