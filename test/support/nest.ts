import { execFileSync } from 'node:child_process';

const NEST =
  'for (let i = 0; i < 25; i++) { fs.mkdirSync("d".repeat(200)); process.chdir("d".repeat(200)); }';

/** Directories in one another, deeper than a path can say: a path has at most 4,096 bytes. */
export function nest(dir: string): void {
  execFileSync(process.execPath, ['-e', NEST], { cwd: dir });
}
