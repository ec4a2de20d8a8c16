import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { done, tasks, writeSpec } from '../features/spec-runs/support.ts';
import { type World, waitFor } from '../support/index.ts';
import { CLI, it, type TmuxServer } from './tmux-server.ts';

/** A shell at its prompt, for which `start` is the run of a plan with a gate, and with an agent that works until it is told to go on. */
async function shell(server: TmuxServer) {
  gatePlan(server.world);
  return shellAt(server, 'run', 'p');
}

function gatePlan(world: World): void {
  world.agent('agent', 'note working; go; commit');
  world.workflow('asks', [
    { id: 'ask', type: 'gate', prompt: 'Ship it?', on: { yes: 'done', no: 'gone' } },
    { id: 'done', type: 'terminal' },
    { id: 'gone', type: 'terminal', notify: true },
  ]);
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
  world.plan('p', { tickets: { a: { workflow: 'asks' }, b: {} } });
}

async function shellAt(server: TmuxServer, ...words: string[]) {
  const { world } = server;
  const file = join(world.dir, 'rc');
  const env = Object.entries(world.env).map(([name, value]) => `export ${name}='${value}'\n`);
  const command = [...CLI, ...words].map((word) => `'${word}'`).join(' ');
  writeFileSync(file, `${env.join('')}PS1='prompt> '\nstart() { ${command}; }\n`);
  const bash = `bash --noprofile --rcfile '${file}' -i`;
  server.tmux('new-session', '-d', '-s', 'run', '-x', '80', '-y', '24', '-c', world.repo, bash);
  const text = () => server.text('run');
  const type = (...keys: string[]) => server.tmux('send-keys', '-t', 'run', ...keys);
  const shows = (what: RegExp) => waitFor(String(what), () => what.test(text()), { state: text });
  await shows(/prompt>/);
  return { type, shows, text };
}

describe.concurrent('a gate in a live view', () => {
  it('is answered with a key, a decision, a message and Enter; Ctrl-C works as before', async ({
    server,
  }) => {
    const { world } = server;
    const { type, shows } = await shell(server);
    type('start', 'Enter');
    await world.call('working');
    await shows(/Press a to answer here/);
    type('a');
    await shows(/^Answer a: Ship it\? \(yes \| no\)/m);
    type('Right');
    await shows(/\[yes\]/);
    type('-l', 'quite good');
    await shows(/Message, or none: quite good/);
    type('Escape');
    await shows(/Press a to answer here/);
    expect(world.ticket('p', 'a').hold?.kind).toBe('gate');
    type('a');
    await shows(/^Answer a/m);
    type('Right');
    await shows(/\[yes\]/);
    type('-l', 'fine');
    await shows(/Message, or none: fine/);
    type('Enter');
    const done = await world.reaches('p', 'a', 'complete');
    expect(done.context).toMatchObject({ ask_decision: 'yes', ask_message: 'fine' });
    type('C-c');
    await shows(/Stopped\. Continue with: signalbox resume p[\s\S]*prompt>$/);
    type('echo "code $?"', 'Enter');
    await shows(/^code 130$/m);
  });

  it('is answered also when nothing else is left to run, and the run continues', async ({ server }) => {
    const { world } = server;
    world.go();
    const { type, shows } = await shell(server);
    type('start', 'Enter');
    await shows(/Press a to answer here/);
    await world.reaches('p', 'b', 'complete');
    await shows(/Press a to answer here, q for later/);
    type('a');
    await shows(/^Answer a/m);
    type('Right');
    await shows(/\[yes\]/);
    type('Enter');
    await shows(/2 of 2 done[\s\S]*prompt>$/);
    type('echo "code $?"', 'Enter');
    await shows(/^code 0$/m);
  });

  it('is also the question of a spec that has halted', async ({ server }) => {
    const { world } = server;
    const asks = { result: 'Which one?\n\n<promise>HALT</promise>' };
    world.rehearsal([
      {
        when: { ticket: '1', phase: 'implement', visit: 1 },
        do: [{ write: { path: 'half.txt', text: 'half' } }, asks],
      },
      { when: { ticket: '1', phase: 'implement', visit: 2 }, do: [{ commit: 'B' }, done()] },
    ]);
    const { type, shows } = await shellAt(server, 'spec', writeSpec(world, tasks('One')), '--no-tmux');
    type('start', 'Enter');
    await shows(/^spec-limits: 1 unit$/m);
    await shows(/Press a to answer here, q for later/);
    type('a');
    await shows(/^Answer 1: Which one\?/m);
    type('-l', 'Take B.');
    await shows(/none: Take B\./);
    type('Enter');
    await world.reaches('spec-limits', '1', 'complete');
    await shows(/prompt>$/);
    type('echo "code $?"', 'Enter');
    await shows(/^code 0$/m);
  });

  it('is also the question of a run of issues, which sees it late', async ({ server }) => {
    const issue = join(server.world.repo, 'a.md');
    writeFileSync(issue, '# A\n\n## Acceptance criteria\n\n- [ ] x\n');
    const { type, shows } = await shellAt(
      server,
      'run',
      issue,
      '--chain',
      '--qa-gate',
      '--agent',
      'rehearsal',
    );
    type('start', 'Enter');
    await shows(/Press a to answer here, q for later/);
    type('q');
    await shows(/1 needs you[\s\S]*prompt>$/);
  });

  it('leaves the terminal to the shell while it is stopped or in the background', async ({ server }) => {
    const { world } = server;
    const { type, shows } = await shell(server);
    type('start', 'Enter');
    await world.call('working');
    await shows(/Press a to answer here/);
    type('C-z');
    await shows(/Stopped/);
    type('bg', 'Enter');
    await shows(/Progress: a ⏳ b ⏳/);
    type('', 'Enter');
    type('jobs', 'Enter');
    await shows(/Running/);
    type('fg', 'Enter');
    await shows(/Press a to answer here/);
    type('a');
    await shows(/^Answer a/m);
    type('Escape');
    world.go();
    await shows(/Press a to answer here, q for later/);
    type('q');
    await shows(/1 of 2 done[\s\S]*prompt>$/);
    type('echo typed', 'Enter');
    await shows(/^typed$/m);
  });
});
