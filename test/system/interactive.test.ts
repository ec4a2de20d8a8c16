import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { isRunning, waitFor } from '../support/index.ts';
import { CLI, it, type TmuxServer } from './tmux-server.ts';

const SECRET = 'tracker-key-0123456789';

/** A `claude` that writes down what it was given, then waits for a line, or for Ctrl-C when it ignores that. */
function fakeClaude(server: TmuxServer, ending: string): string {
  const dir = join(server.world.dir, 'programs');
  const told = join(server.world.dir, 'told');
  mkdirSync(dir);
  writeFileSync(
    join(dir, 'claude'),
    `#!/bin/sh
{ pwd; signalbox --version; } > '${told}.new'
printf '%s\\n' "$@" >> '${told}.new'
for file in $(find "$(dirname "$(dirname "$(command -v signalbox)")")" -type f); do stat -c '%a %n' "$file" >> '${told}.new'; done
test -t 0 && test -t 1 && echo 'a terminal' >> '${told}.new'
mv '${told}.new' '${told}'
echo ready
${ending}
`,
  );
  chmodSync(join(dir, 'claude'), 0o755);
  return dir;
}

async function start(server: TmuxServer, ending: string) {
  const { world } = server;
  world.config({
    mcpServers: { tracker: { command: 'tracker', env: { TRACKER_TOKEN: SECRET } } },
    agents: { claude: { command: join(fakeClaude(server, ending), 'claude') } },
  });
  const line = [...CLI, 'interactive', '--agent', 'claude'].map((word) => `'${word}'`).join(' ');
  server.tmux(
    'new-session',
    '-d',
    '-s',
    'plan',
    '-x',
    '120',
    '-y',
    '30',
    '-c',
    world.repo,
    `${line}; echo "ended $?"; cat`,
  );
  const [pane] = server.panes('plan');
  await server.shows(pane?.pane ?? '', 'ready');
  const told = readFileSync(join(world.dir, 'told'), 'utf8').split('\n');
  return { pane: pane?.pane ?? '', told, planner: join(world.home, 'planner') };
}

describe('interactive', () => {
  it('gives the agent the terminal, the directory, our command and files that only the user can read', async ({
    server,
  }) => {
    const { pane, told, planner } = await start(server, 'read line; echo "heard $line"; exit 7');
    expect(told[0]).toBe(server.world.repo);
    expect(told[1]).toMatch(/^\d+\.\d+\.\d+$/);
    expect(told).toContain('a terminal');
    expect(told).toContain('--append-system-prompt');
    const modes = told.filter((line) => line.includes(planner) && /^\d{3} /.test(line));
    expect(modes.map((line) => line.replace(/ .*\//, ' ')).sort()).toEqual([
      '600 mcp.json',
      '600 plugin.json',
      '700 signalbox',
    ]);
    expect(told.join('\n')).not.toContain(SECRET);
    server.tmux('send-keys', '-t', pane, 'hello', 'Enter');
    await server.shows(pane, 'heard hello');
    await server.shows(pane, 'ended 7');
    expect(readdirSync(planner)).toEqual([]);
  });

  it('leaves Ctrl-C to the agent, and removes the files however it ends', async ({ server }) => {
    const { pane, planner } = await start(
      server,
      "trap 'echo not yet' INT; read line; read line; kill -TERM $$",
    );
    server.tmux('send-keys', '-t', pane, 'C-c');
    await server.shows(pane, 'not yet');
    expect(readdirSync(planner)).toHaveLength(1);
    server.tmux('send-keys', '-t', pane, 'a', 'Enter');
    server.tmux('send-keys', '-t', pane, 'b', 'Enter');
    await server.shows(pane, 'ended 143');
    expect(readdirSync(planner)).toEqual([]);
  });

  it('sweeps what a killed session left behind', async ({ server }) => {
    const { planner } = await start(server, 'read line');
    const [name = ''] = readdirSync(planner);
    const pid = Number(name.split('-')[0]);
    process.kill(pid, 'SIGKILL');
    await waitFor('its end', () => !isRunning(pid));
    expect(readdirSync(planner)).toEqual([name]);
    server.tmux('kill-session', '-t', 'plan');
    const line = [...CLI, 'interactive', '--agent', 'claude'].map((word) => `'${word}'`).join(' ');
    server.tmux('new-session', '-d', '-s', 'again', '-c', server.world.repo, `${line}; cat`);
    await waitFor('the next session', () => {
      const names = readdirSync(planner);
      return names.length === 1 && names[0] !== name;
    });
  });
});
