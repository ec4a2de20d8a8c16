import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { IssueWorld } from '../cli/issue-world.ts';
import { waitFor } from '../support/index.ts';
import { CLI, it, type TmuxServer } from './tmux-server.ts';

const SAYS = 'Reading the code to see how times are kept, and where their zones get lost on the way.';
const TOTALS = /^Progress: .*$/gm;
const ROW = /^[●◌] \w+ +exec .*$/gm;

/** A live view of three issues at work, near the top of the screen. */
async function start(server: TmuxServer, columns: number, rows: number): Promise<void> {
  const { world } = server;
  world.agent(
    'agent',
    `i=0; while [ $i -lt 9 ]; do echo '${SAYS}'; i=$((i+1)); done; note working; go; commit`,
  );
  const issues = new IssueWorld(world);
  for (const id of ['cache', 'age', 'zone']) issues.write(`${id}.md`, `# Make ${id} work\n`);
  const words = ['run', 'cache.md', 'age.md', 'zone.md', '--phases', 'exec', '--no-smart-tests'];
  const file = join(world.dir, 'terminal.sh');
  const env = Object.entries(world.env).map(([name, value]) => `export ${name}='${value}'\n`);
  const command = [...CLI, ...words].map((word) => `'${word}'`).join(' ');
  writeFileSync(file, `${env.join('')}echo before\n${command}\necho after\nexec sleep 1000\n`);
  const size = ['-x', String(columns), '-y', String(rows)];
  server.tmux('new-session', '-d', '-s', 'run', ...size, '-c', world.repo, `sh '${file}'`);
  const text = () => server.text('run');
  await waitFor('three rows that say much', () => found(text(), ROW).length === 3, { state: text });
}

const found = (text: string, what: RegExp) => text.match(what) ?? [];

/** Another size in one step, and one block after it. */
async function resize(server: TmuxServer, columns: number, rows: number): Promise<void> {
  const text = () => server.text('run');
  // Every row tells how long, so that a later one differs.
  const [before] = found(text(), ROW);
  server.tmux('resize-window', '-t', 'run', '-x', String(columns), '-y', String(rows));
  const drawn = () => {
    // One look at a time: the view draws again every second, and a look may come in the middle of that.
    const now = text();
    const [row] = found(now, ROW);
    const whole = row !== undefined && row !== before && found(now, TOTALS).length === 1;
    return whole && found(now, /^─+$/gm).length <= 1;
  };
  await waitFor(`one block in ${columns} by ${rows}`, drawn, { state: text });
}

/** At the end only the lines are there. */
async function finish(server: TmuxServer): Promise<void> {
  server.world.go();
  const said = await server.shows('run', '\nafter');
  expect(said).toMatch(
    /^before\n(?:· Preparing the run…\n)?run-[\w-]+: 3 issues, parallel \(concurrency 3\)\n {2}cache {2}Make cache work\n/,
  );
  expect(said).not.toContain('─');
  expect(found(said, TOTALS)).toEqual([]);
  const lines = said.split('\n').filter((line) => /^[●✓] /.test(line));
  for (const id of ['cache', 'age', 'zone'])
    expect(lines.filter((line) => line.startsWith(`● ${id}: exec ✓`))).toHaveLength(1);
}

/** How long the first row has been in its phase. */
function seconds(text: string): number {
  const [row = ''] = found(text, ROW);
  return Number(/ (\d+)s\b/.exec(row)?.[1] ?? 0);
}

describe.concurrent('a live view in tmux', () => {
  it('leaves its lines alone in the scrollback, however the terminal changes its size', async ({
    server,
  }) => {
    await start(server, 80, 24);
    await resize(server, 40, 24);
    await resize(server, 40, 6);
    await resize(server, 24, 6);
    await resize(server, 120, 40);
    await resize(server, 61, 9);
    await resize(server, 80, 24);
    await finish(server);
  });

  it('leaves them alone when a wide terminal becomes narrow in one step, at once and later', async ({
    server,
  }) => {
    await start(server, 160, 40);
    await resize(server, 80, 40);
    await resize(server, 160, 40);
    const text = () => server.text('run');
    const later = seconds(text()) + 6;
    await waitFor('a terminal that kept its size', () => seconds(text()) >= later, { state: text });
    await resize(server, 80, 12);
    await resize(server, 160, 12);
    await resize(server, 80, 30);
    await finish(server);
    // The summary has the width of the terminal at the end.
    expect(server.text('run')).toMatch(/^ {3}No checks are configured/m);
  });
});
