import { execFileSync } from 'node:child_process';
import { createWorkspaces, type WorkspaceSpec } from '../../src/workspaces/workspaces.ts';

/** An engine process: takes every ticket through ensure, a commit and release, a few at once, and says so. */
const specs = JSON.parse(process.argv[2] ?? '[]') as WorkspaceSpec[];
const workspaces = createWorkspaces({ env: process.env });
const say = (word: string, value: object) => process.stdout.write(`${word} ${JSON.stringify(value)}\n`);

async function work(spec: WorkspaceSpec): Promise<void> {
  const { base } = await workspaces.ensure(spec);
  await workspaces.verify(spec);
  const run = (...args: string[]) => execFileSync('git', args, { cwd: spec.path, encoding: 'utf8' }).trim();
  run('commit', '--quiet', '--allow-empty', '--message', spec.branch);
  say('done', { branch: spec.branch, tip: run('rev-parse', 'HEAD'), base: base.commit });
  say('released', { branch: spec.branch, ...(await workspaces.release(spec)) });
}

const queue = [...specs];
const lane = async () => {
  for (let spec = queue.shift(); spec; spec = queue.shift()) await work(spec);
};
await Promise.all([lane(), lane(), lane(), lane()]);
