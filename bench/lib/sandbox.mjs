import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const FILES = 202;

/** Everything of one benchmark: a directory of its own, an origin to clone, and an environment that owes nothing to the user's. */
export function createSandbox(dir = tmpdir()) {
  const root = mkdtempSync(join(dir, 'signalbox-bench-'));
  const home = join(root, 'home');
  mkdirSync(home);
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    LANG: 'C.UTF-8',
    TMPDIR: dir,
    GIT_CONFIG_NOSYSTEM: '1',
    BENCH_STUB: join(here, '..', 'scripts', 'stub.sh'),
  };
  writeFileSync(
    join(home, '.gitconfig'),
    '[user]\n\tname = Bench\n\temail = bench@example.invalid\n[init]\n\tdefaultBranch = main\n',
  );
  const sandbox = { root, env, origin: join(root, 'origin.git'), count: 0 };
  makeOrigin(sandbox);
  return {
    ...sandbox,
    /** A fresh directory with a fresh clone; deleting waits until the end, because deletes slow later creates down. */
    place(name) {
      sandbox.count += 1;
      const dir = join(root, `${sandbox.count}-${name}`);
      mkdirSync(dir);
      git(sandbox, ['clone', '-q', sandbox.origin, join(dir, 'repo')], root);
      return { dir, repo: join(dir, 'repo'), log: join(dir, 'output.log') };
    },
    git: (args, cwd) => git(sandbox, args, cwd),
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }),
  };
}

function makeOrigin(sandbox) {
  const seed = join(sandbox.root, 'seed');
  git(sandbox, ['init', '-q', seed], sandbox.root);
  const filler = 'the quick brown fox jumps over the lazy dog\n'.repeat(23);
  for (let number = 0; number < FILES - 2; number += 1) {
    const dir = join(seed, `src/part-${number % 10}`);
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, `file-${number}.txt`), `file ${number}\n${filler}`);
  }
  writeFileSync(join(seed, 'README.md'), `# Bench\n${filler}`);
  writeFileSync(join(seed, '.gitignore'), 'node_modules/\n');
  git(sandbox, ['add', '.'], seed);
  git(sandbox, ['commit', '-q', '-m', 'Start'], seed);
  git(sandbox, ['clone', '-q', '--bare', seed, sandbox.origin], sandbox.root);
}

function git({ env }, args, cwd) {
  const { status, stdout, stderr } = spawnSync('git', args, {
    cwd,
    env,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  if (status !== 0) throw new Error(`git ${args.join(' ')} failed: ${stderr}`);
  return stdout;
}

/** The end of what a run printed, for an error message. */
export function tailOf(log) {
  return readFileSync(log, 'utf8').trim().split('\n').slice(-8).join('\n');
}
