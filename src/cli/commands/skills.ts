import { resolve } from 'node:path';
import { installSkills, listSkills } from '../../workflows/skills.ts';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openSettings } from '../open.ts';

interface Options extends GlobalOptions {
  dir?: string;
  user?: boolean;
  force?: boolean;
}

export async function skillsList(io: Io, options: Options): Promise<void> {
  const found = await listSkills((await openSettings(io, options)).searchPath.skills);
  if (options.json) return outJson(io, found);
  const width = Math.max(0, ...found.map(({ name }) => name.length));
  io.out(found.map(({ name, dir }) => `${name.padEnd(width)}  ${dir}`).join('\n') || 'There are none.');
}

export async function skillsInstall(io: Io, options: Options, names: readonly string[]): Promise<void> {
  const settings = await openSettings(io, options);
  const root = options.user ? settings.userHome : resolve(io.cwd, options.dir ?? '.');
  const known = await listSkills(settings.searchPath.skills);
  const done = installSkills(known, { root, names, force: options.force === true });
  if (options.json) return outJson(io, done);
  for (const { did, path } of done) io.out(`${did.padEnd(9)}  ${path}`);
  if (done.some(({ did }) => did === 'kept')) io.out('What was changed there was kept; --force replaces it.');
}
