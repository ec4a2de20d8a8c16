import { execFileSync } from 'node:child_process';

const NEST = 'for (let i = 0; i < 3000; i++) { fs.mkdirSync("d"); process.chdir("d"); }';

/** Directories in one another, deeper than a path can say. */
export function nest(dir: string): void {
  execFileSync(process.execPath, ['-e', NEST], { cwd: dir });
}
