import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { IssueWorld } from '../cli/issue-world.ts';
import { waitFor } from '../support/index.ts';
import { CLI, it, type TmuxServer } from './tmux-server.ts';

const SAYS = 'Reading the code to see how times are kept, and where their zones get lost on the way.';
const TOTALS = /^\d\/3 complete.*$/gm;
const ROW = /^[●◌] \w+ +exec .*$/gm;

/** A live view of three issues at work, in a terminal of 80 by 24. */
function start(server: TmuxServer): void {
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
  server.tmux('new-session', '-d', '-s', 'run', '-x', '80', '-y', '24', '-c', world.repo, `sh '${file}'`);
}

const found = (text: string, what: RegExp) => text.match(what) ?? [];

describe.concurrent('a live view in tmux', () => {
  it('leaves its lines alone in the scrollback, however the terminal changes its size', async ({
    world,
    server,
  }) => {
    start(server);
    const text = () => server.text('run');
    await waitFor('three rows that say much', () => found(text(), ROW).length === 3, { state: text });
    for (const [columns, rows] of [
      [40, 24],
      [40, 6],
      [24, 6],
      [120, 40],
      [61, 9],
      [80, 24],
    ]) {
      // Every row tells how long, so that a later one differs.
      const [before] = found(text(), ROW);
      server.tmux('resize-window', '-t', 'run', '-x', String(columns), '-y', String(rows));
      const drawn = () => {
        const now = text();
        const [row] = found(now, ROW);
        return row !== undefined && row !== before && found(now, TOTALS).length > 0;
      };
      await waitFor(`a block in ${columns} by ${rows}`, drawn, { state: text });
      expect(found(text(), TOTALS)).toHaveLength(1);
      expect(found(text(), /^─+$/gm).length).toBeLessThanOrEqual(1);
    }
    world.go();
    const said = await server.shows('run', '\nafter');
    expect(said).toMatch(
      /^before\nrun-[\w-]+: 3 issues, parallel \(concurrency 3\)\n {2}cache {2}Make cache work\n/,
    );
    expect(said).not.toContain('─');
    expect(found(said, TOTALS)).toEqual([]);
    const lines = said.split('\n').filter((line) => /^[·✓] /.test(line));
    for (const id of ['cache', 'age', 'zone'])
      expect(lines.filter((line) => line.startsWith(`· ${`${id}:`.padEnd(6)} exec ✓`))).toHaveLength(1);
  });
});
