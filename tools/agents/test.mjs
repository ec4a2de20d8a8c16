// Proves the adapters against the real CLIs: node tools/agents/test.mjs [name[@version]...] [-- vitest arguments]
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { install } from './install.mjs';
import { PINNED, releaseOf } from './pinned.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const HELP = `node tools/agents/test.mjs [name[@version]...] [-- vitest arguments]

Installs the pinned agents and runs the contract suite over them; without names, all of them.
  name  ${Object.keys(PINNED).join(', ')}`;
const args = process.argv.slice(2);
const split = args.indexOf('--');
const names = split < 0 ? args : args.slice(0, split);
if (names.includes('--help') || names.includes('-h')) {
  console.log(HELP);
  process.exit(0);
}
const rest = split < 0 ? [] : args.slice(split + 1);
const unknown = names.filter((name) => !Object.hasOwn(PINNED, releaseOf(name).name));
if (unknown.length > 0) {
  console.error(`No such agent: ${unknown.join(', ')}. Known: ${Object.keys(PINNED).join(', ')}.`);
  process.exit(2);
}
const selected = names.length > 0 ? names : Object.keys(PINNED);
try {
  for (const name of selected) install(name, { say: (line) => console.log(line) });
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
const run = (env, file, ...more) =>
  spawnSync(process.execPath, [join(root, file), ...more], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  }).status ?? 1;
const prove = (group) =>
  run(
    { SIGNALBOX_CONTRACT_AGENTS: group.join(',') },
    ...['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.agents.config.ts', ...rest],
  );
const isSlow = (name) => releaseOf(name).slow === true;
const groups = [selected.filter((name) => !isSlow(name)), selected.filter(isSlow)];
const built = run({}, 'tools/build.mjs', '--if-stale');
process.exit(built || Math.max(...groups.filter(({ length }) => length > 0).map(prove)));
