// Proves the adapters against the real CLIs: node tools/agents/test.mjs [name...] [-- vitest arguments]
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { install } from './install.mjs';
import { PINNED } from './pinned.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const args = process.argv.slice(2);
const split = args.indexOf('--');
const names = split < 0 ? args : args.slice(0, split);
const rest = split < 0 ? [] : args.slice(split + 1);
const unknown = names.filter((name) => !Object.hasOwn(PINNED, name));
if (unknown.length > 0) {
  console.error(`No such agent: ${unknown.join(', ')}. Known: ${Object.keys(PINNED).join(', ')}.`);
  process.exit(2);
}
const selected = names.length > 0 ? names : Object.keys(PINNED);
for (const name of selected) install(name, { say: (line) => console.log(line) });
const run = (file, ...more) =>
  spawnSync(process.execPath, [join(root, file), ...more], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, SIGNALBOX_CONTRACT_AGENTS: selected.join(',') },
  }).status ?? 1;
const built = run('tools/build.mjs', '--if-stale');
process.exit(
  built || run('node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.agents.config.ts', ...rest),
);
