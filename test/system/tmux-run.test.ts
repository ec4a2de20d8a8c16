import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { runPlan } from '../../src/engine/run-plan.ts';
import type { EngineEvent } from '../../src/model/events.ts';
import type { TmuxView } from '../../src/report/tmux/tmux-view.ts';
import { partsOf } from '../engine/parts.ts';
import { waitFor } from '../support/index.ts';
import { within } from '../support/within.ts';
import type { World } from '../support/world.ts';
import { becomes, starts } from './events.ts';
import { it, type TmuxServer } from './tmux-server.ts';

const BUILD = { id: 'build', type: 'agent', prompt: 'Do {{ title }}.', expect: { commits: true } };
const END = [
  { id: 'done', type: 'terminal' },
  { id: 'stuck', type: 'terminal', notify: true },
];

function workflow(world: World): void {
  world.workflow('work', [{ ...BUILD, onSuccess: 'done', onFailure: 'stuck' }, ...END]);
}

/** Runs plan p with the view listening, as a run would. */
async function run(world: World, view: TmuxView, hear: (event: EngineEvent) => void = () => undefined) {
  const parts = await partsOf(world, (event) => {
    view.listen(event);
    hear(event);
  });
  const signal = new AbortController().signal;
  return runPlan(parts, { planId: 'p', maxConcurrency: 1, checkEveryMs: 60_000, signal });
}

/** Two tickets of which each waits until it may go on. */
function twoTickets(world: World): void {
  world.agent('agent', 'echo working on it; go; commit');
  workflow(world);
  world.plan('p', { tickets: { '1.1': {}, '1.2': { blockedBy: ['1.1'] } } });
}

async function goesThrough(world: World, view: TmuxView): Promise<void> {
  world.go();
  expect((await run(world, view)).ok).toBe(true);
  await view.close();
}

function toldOnce({ problems }: TmuxServer, about: string): void {
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(about);
  expect(problems[0]).toMatch(/The work continues; watch it with: signalbox logs p [\w.]+ --follow$/);
}

const HANGS = 'sleep 60';

describe.concurrent('a run', () => {
  it('is seen live in readable form, and its text stays', async ({ world, server }) => {
    world.rehearsal([
      {
        do: [
          { say: 'First I look around.\n  - one thing\n  - another' },
          { write: { path: 'note.txt', text: 'hello' } },
          { usage: { inputTokens: 1200, outputTokens: 300, costUsd: 0.25 } },
          { commit: 'Add a note' },
        ],
      },
    ]);
    workflow(world);
    world.plan('p', { tickets: { '1.1': {} } });
    const view = server.view();
    expect((await run(world, view)).ok).toBe(true);
    await view.close();
    await server.ends('1.1');
    const text = server.text(server.paneOf('1.1').pane);
    expect(text).toMatch(/── build \(rehearsal\)/);
    expect(text).toContain('First I look around.\n  - one thing\n  - another\n');
    expect(text).toMatch(/[▸✓] .*note\.txt/);
    expect(text).toContain('── success (1.5k tokens · $0.25)');
    expect(text).toContain('── 1.1 complete');
    expect(server.problems).toEqual([]);
  });

  it('shows what an agent says while it works', async ({ world, server }) => {
    twoTickets(world);
    const view = server.view();
    const done = run(world, view);
    await waitFor('its window', () => server.paneOf('1.1'));
    await server.shows(server.paneOf('1.1').pane, 'working on it');
    expect(server.paneOf('1.1').dead).toBe(false);
    world.go();
    expect((await done).ok).toBe(true);
    await view.close();
    await server.ends('1.1');
    await server.ends('1.2');
  });

  it('goes on when its window is closed', async ({ world, server }) => {
    twoTickets(world);
    const view = server.view();
    const done = run(world, view);
    await waitFor('its window', () => server.paneOf('1.1'));
    await view.close();
    server.tmux('kill-window', '-t', server.paneOf('1.1').window);
    world.go();
    expect((await done).ok).toBe(true);
    await view.close();
    expect(server.names()).toEqual(['task-1.2']);
    expect(world.calls('start')).toHaveLength(2);
    expect(server.problems).toEqual([expect.stringContaining('The tmux session run is gone')]);
  });

  it('goes on when the server is killed, says so once and shows the next ticket', async ({
    world,
    server,
  }) => {
    twoTickets(world);
    const view = server.view();
    const done = run(world, view);
    await waitFor('its window', () => server.paneOf('1.1'));
    await view.close();
    expect(server.names()).toEqual(['task-1.1']);
    server.kill();
    world.go();
    expect((await done).ok).toBe(true);
    await view.close();
    expect(world.calls('start')).toHaveLength(2);
    toldOnce(server, 'The tmux session run is gone; a new one is made for the windows that follow.');
    expect(server.names()).toEqual(['task-1.2']);
    server.kill();
    view.listen(starts('1.1', 2));
    await view.close();
    expect(server.problems).toHaveLength(1);
  });

  it('needs no tmux, and says once that there is none', async ({ world, server }) => {
    twoTickets(world);
    const view = server.view({ env: { ...server.env, PATH: server.fake(null) } });
    await goesThrough(world, view);
    toldOnce(server, 'tmux is not installed. Install tmux 3.0 or newer.');
    expect(existsSync(join(world.stateDir, 'plans', 'p', 'tmux.json'))).toBe(false);
  });

  it.for<[string, string, string]>([
    ['fails', 'echo "protocol version mismatch" >&2; exit 1', 'tmux failed: protocol version mismatch.'],
    ['fails without a word', 'exit 1', 'tmux failed: it ended with 1.'],
    ['says nonsense', 'echo nonsense', 'tmux answered "nonsense".'],
    ['hangs', HANGS, 'tmux gave no answer in 0.2 s.'],
  ])('goes on where tmux %s', async ([, body, about], { world, server }) => {
    twoTickets(world);
    const PATH = `${server.fake(body)}:${server.env.PATH}`;
    const timeoutMs = body === HANGS ? 200 : within(10_000);
    const view = server.view({ env: { ...server.env, PATH }, timeoutMs });
    await goesThrough(world, view);
    toldOnce(server, about);
  });

  it('waits for no answer of tmux', async ({ world, server }) => {
    twoTickets(world);
    world.go();
    const wait = `touch ${world.dir}/asked; while [ ! -e ${world.dir}/answer ]; do sleep 0.05; done; exit 1`;
    const PATH = `${server.fake(wait)}:${server.env.PATH}`;
    const view = server.view({ env: { ...server.env, PATH }, timeoutMs: within(30_000) });
    const before = performance.now();
    for (let n = 0; n < 100; n++) view.listen(starts(`t${n}`));
    expect(performance.now() - before).toBeLessThan(within(5000));
    expect((await run(world, view)).ok).toBe(true);
    await world.until('asked');
    // The first call of tmux has not even come back.
    expect(server.problems).toEqual([]);
    writeFileSync(join(world.dir, 'answer'), '');
    await view.close();
    toldOnce(server, 'tmux failed');
  });

  it('ends though tmux never answers', async ({ world, server }) => {
    world.plan('p', { tickets: { a: {} } });
    const PATH = `${server.fake(HANGS)}:${server.env.PATH}`;
    const view = server.view({ env: { ...server.env, PATH }, timeoutMs: 300 });
    for (let n = 0; n < 100; n++) view.listen(starts(`t${n}`));
    const before = performance.now();
    await view.close();
    expect(performance.now() - before).toBeLessThan(within(20_000));
    await waitFor('the problem to be told', () => server.problems.length > 0);
    toldOnce(server, 'tmux gave no answer in 0.3 s.');
  });

  it.for(['1', 'true', 'yes', 'on', 'YES', ' On '])(
    'has no windows with CODEAGENT_NO_TMUX=%s',
    async (value, { world, server }) => {
      world.plan('p', { tickets: { a: {} } });
      const PATH = `${server.fake(`touch ${world.dir}/asked`)}:${server.env.PATH}`;
      const view = server.view({ env: { ...server.env, PATH, CODEAGENT_NO_TMUX: value } });
      view.listen(starts('a'));
      view.listen(becomes('a', 'complete'));
      await view.close();
      expect(view.off).toBe('CODEAGENT_NO_TMUX is set: no tmux windows.');
      expect(world.exists('asked')).toBe(false);
      expect(server.problems).toEqual([]);
    },
  );
});
