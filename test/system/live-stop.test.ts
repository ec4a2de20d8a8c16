import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { waitFor } from '../support/index.ts';
import { CLI, it, type TmuxServer } from './tmux-server.ts';

const TOTALS = /^Progress: a ⏳/m;

/** A shell at its prompt, for which `start` is the run of a plan with one ticket. */
async function shell(server: TmuxServer): Promise<() => string> {
  const { world } = server;
  world.agent('agent', 'note working; go; commit; note over');
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
  world.plan('p', { tickets: { a: {} } });
  const file = join(world.dir, 'rc');
  const env = Object.entries(world.env).map(([name, value]) => `export ${name}='${value}'\n`);
  const command = [...CLI, 'run', 'p'].map((word) => `'${word}'`).join(' ');
  writeFileSync(file, `${env.join('')}PS1='prompt> '\nalias start="${command}"\n`);
  const bash = `bash --noprofile --rcfile '${file}' -i`;
  server.tmux('new-session', '-d', '-s', 'run', '-x', '80', '-y', '24', '-c', world.repo, bash);
  const text = () => server.text('run');
  await waitFor('the shell', () => text().includes('prompt>'), { state: text });
  return text;
}

describe.concurrent('a live view', () => {
  it('that Ctrl-Z stops leaves a clean screen and agents at work, and comes back with fg', async ({
    server,
  }) => {
    const { world } = server;
    const text = await shell(server);
    const type = (...keys: string[]) => server.tmux('send-keys', '-t', 'run', ...keys);
    const shows = (what: RegExp) => waitFor(String(what), () => what.test(text()), { state: text });
    const clean = () => {
      expect(text()).not.toMatch(TOTALS);
      expect(text()).not.toMatch(/─|^● a +build/m);
    };
    type('start', 'Enter');
    await shows(TOTALS);
    await world.call('working');

    type('C-z');
    await shows(/Stopped/);
    type('echo "code $?"', 'Enter');
    await shows(/^code 148$/m);
    clean();

    type('fg', 'Enter');
    await shows(TOTALS);
    type('C-z');
    await shows(/Stopped[\s\S]*Stopped/);
    clean();
    world.go();
    await world.call('over');

    type('fg', 'Enter');
    await shows(/^1 of 1 done · [\s\S]*prompt>$/m);
    expect(text()).toMatch(/^✓ a +complete$/m);
    clean();
  });

  it('says at once who else has a ticket', async ({ server }) => {
    const { world } = server;
    const text = await shell(server);
    const daemon = world.start(['daemon']);
    await world.call('working');
    server.tmux('send-keys', '-t', 'run', 'start', 'Enter');
    await waitFor('the row', () => /^● a +build +\d+s +is driven by da/m.test(text()), { state: text });
    expect(text()).toContain('p: 1 ticket\n');
    expect(text()).toContain(`◌ a  is driven by daemon (pid ${daemon.pid} on `);
    world.go();
    await waitFor('the end', () => /^1 of 1 done · [\s\S]*prompt>$/m.test(text()), { state: text });
    await daemon.kill('SIGTERM');
  });
});
