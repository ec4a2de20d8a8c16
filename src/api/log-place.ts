import { existsSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { InputError } from '../model/errors.ts';

/** A repository may have links in it that somebody else has put there: a log in it stays in it. */
export function checkLogPlace(file: string, repo: string): void {
  if (!isWithin(repo, file)) return;
  let dir = dirname(file);
  while (!existsSync(dir) && dir !== dirname(dir)) dir = dirname(dir);
  const real = realpathSync(dir);
  const root = realpathSync(repo);
  // Git takes what it finds among its own files for its own.
  if (isWithin(join(root, '.git'), join(real, relative(dir, dirname(file)))))
    throw new InputError(
      'run/log',
      `The log of the run would be written to ${dirname(file)}, among git's files.`,
      {
        hint: 'Name another directory with --log-path, or leave the log out with --no-log-json.',
        details: { path: dirname(file) },
      },
    );
  if (isWithin(root, real)) return;
  throw new InputError(
    'run/log',
    `The log of the run would be written to ${real}: ${dir} leads out of the repository.`,
    {
      hint: `Make ${dir} a directory, name another one with --log-path, or leave the log out with --no-log-json.`,
      details: { path: dir, real },
    },
  );
}

function isWithin(dir: string, path: string): boolean {
  const way = relative(dir, path);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}
