import { execFile, spawn } from 'node:child_process';

/** Where and with which environment commands run. */
export interface Place {
  cwd: string;
  env: NodeJS.ProcessEnv;
}

/** Commits everything in the worktree. Nothing to commit is fine: an attempt that was cut off may have done it. */
export async function commitAll(place: Place, message: string): Promise<'committed' | 'nothing'> {
  const [added, env] = await Promise.all([git(place, ['add', '--all']), withIdentity(place)]);
  if (added.code !== 0) throw new Error(`git add failed: ${added.output}`);
  const done = await git({ ...place, env }, ['commit', '--quiet', '--no-gpg-sign', '-m', message]);
  if (done.code === 0) return 'committed';
  const staged = await git(place, ['diff', '--cached', '--quiet']);
  if (staged.code === 0) return 'nothing';
  throw new Error(`git commit failed: ${done.output}`);
}

/** Runs a shell command; what it prints goes to our standard error, what it leaves behind is not waited for. */
export async function runShell(place: Place, command: string): Promise<number | NodeJS.Signals> {
  const env = await withIdentity(place);
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', command], { cwd: place.cwd, env, stdio: ['ignore', 2, 2] });
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(signal ?? code ?? 1));
  });
}

/** The environment, with an author added where the repository and its user have none. */
async function withIdentity({ cwd, env }: Place): Promise<NodeJS.ProcessEnv> {
  if (env.GIT_AUTHOR_EMAIL && env.GIT_COMMITTER_EMAIL) return env;
  const known = await git({ cwd, env }, ['config', 'user.email']);
  if (known.code === 0) return env;
  const name = 'Rehearsal';
  const email = 'rehearsal@localhost';
  return {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
    ...env,
  };
}

function git({ cwd, env }: Place, args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve, reject) => {
    execFile('git', args, { cwd, env }, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') return reject(error);
      const code = typeof error?.code === 'number' ? error.code : 0;
      resolve({ code, output: `${stderr}${stdout}`.trim() });
    });
  });
}
