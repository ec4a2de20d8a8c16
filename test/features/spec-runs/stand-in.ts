import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { World, waitFor } from '../../support/index.ts';
import { tasks, withoutWaits, writeSpec } from './support.ts';

/** Tabs, quotes, emoji, CRLF, what shells and templates would touch, and more than 20 KB of it. */
export const PROMPT = Array.from(
  { length: 400 },
  (_, index) =>
    `${index}\tIt's "quoted" \`code\` $HOME $(date) \\n 😀 日本語\u00a0é {{ x }} {% if %} ;|&<>\r\n`,
).join('\n');

export const VARIABLE = `two words, a\ttab, "quotes", ' and 😀; $HOME`;

const SECONDS = 2;

/** What a CLI was called with, and the processes it left: a child that hears no signal, and one that left the group. */
interface Called {
  stdin: Buffer;
  argv: string[];
  env: Record<string, string>;
  pids: number[];
}

const CLI = (dir: string) => `#!${process.execPath}
const { spawn } = require('node:child_process');
const { readFileSync, renameSync, writeFileSync } = require('node:fs');
if (process.argv[2] === '--version') {
  console.log('99.0.0');
  process.exit();
}
const put = (name, text) => writeFileSync(${JSON.stringify(dir)} + '/' + name, text);
put('stdin', readFileSync(0));
put('argv.json', JSON.stringify(process.argv.slice(2)));
put('env.json', JSON.stringify(process.env));
const deaf = "trap '' TERM INT HUP QUIT; while :; do sleep 1; done";
const child = (detached) => spawn('/bin/sh', ['-c', deaf], { stdio: 'ignore', detached }).pid;
put('pids.json.tmp', JSON.stringify([process.pid, child(false), child(true)]));
renameSync(${JSON.stringify(dir)} + '/pids.json.tmp', ${JSON.stringify(dir)} + '/pids.json');
setInterval(() => undefined, 1000);
`;

/** Runs a spec of one unit with a program that stands in for an adapter's CLI and never ends by itself. */
export async function runStandIn(adapter: string, env: NodeJS.ProcessEnv, ...flags: string[]) {
  const world = new World();
  const dir = join(world.dir, 'called');
  const command = join(world.dir, 'bin', adapter);
  mkdirSync(dir);
  writeFileSync(command, CLI(dir));
  chmodSync(command, 0o755);
  // With a key in its variables, no CLI is asked whether it is logged in.
  const variables = { CONTRACT_VARIABLE: VARIABLE, ANTHROPIC_API_KEY: 'none', CODEX_API_KEY: 'none' };
  world.config({ agents: { [adapter]: { adapter, command, env: variables } } });
  world.prompt('spec-implement.md', `{% raw %}${PROMPT}{% endraw %}`);
  withoutWaits(world, SECONDS);
  const spec = writeSpec(world, tasks('One'));
  const args = ['--backend', adapter, '--assign-backend', 'rehearsal', '--max-attempts', '1'];
  const run = world.start(['spec', spec, '--delay', '0', '--json', ...args, ...flags], env);
  await waitFor('the CLI to be called', () => existsSync(join(dir, 'pids.json')), {
    state: () => run.soFar,
  });
  const read = (name: string) => readFileSync(join(dir, name));
  const called: Called = {
    stdin: read('stdin'),
    argv: JSON.parse(read('argv.json').toString()),
    env: JSON.parse(read('env.json').toString()),
    pids: JSON.parse(read('pids.json').toString()),
  };
  return { world, called, ended: await run.ended, ticket: world.ticket('spec-limits', '1') };
}
