import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, vi } from 'vitest';
import type { IssueResult, RunResult } from '../../src/features/issue-runs/request-and-result-types.ts';
import { findExecutable } from '../../src/machine/find-and-probe-program.ts';
import type { Ticket } from '../../src/model/ticket.ts';
import { issueSummary } from '../../src/report/issue-runs/summary-and-dry-run.ts';
import { frame } from '../../src/report/live/draw-frame.ts';
import { liveState, refresh } from '../../src/report/live/live-state.ts';
import { summary } from '../../src/report/plan-headers-and-summaries.ts';
import { style } from '../../src/report/style-and-phrases.ts';
import { at, attempt, NOW, plan, ticket } from '../model/build.ts';
import { CliCall } from '../support/cli-call.ts';
import { it } from '../support/index.ts';
import type { World } from '../support/world.ts';

/** The text of each screen is in a file: `npx vitest run test/report/golden-screens.test.ts -u` writes them again. Look at each change. */
const SIZES = [
  [80, 24],
  [120, 40],
] as const;

async function golden(name: string, draw: (columns: number, rows: number) => string[] | Promise<string[]>) {
  const screens: string[] = [];
  for (const [columns, rows] of SIZES) {
    const lines = await draw(columns, rows);
    screens.push(`=== ${columns}x${rows}`, ...lines.map((line) => line.trimEnd()));
  }
  await expect(`${screens.join('\n')}\n`).toMatchFileSnapshot(`./golden/${name}.txt`);
}

const spent = (dollars: number) => ({
  inputTokens: dollars * 20_000,
  outputTokens: 500,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  costUsd: dollars,
});

const worked = (phase: string, status: Parameters<typeof attempt>[1], dollars: number) =>
  attempt(phase, status, {
    agent: 'claude',
    startedAt: at(-400),
    completedAt: at(-60),
    usage: spent(dollars),
  });

/** 33 done, 9 failed for two reasons, 2 that ask, 2 that run, 4 that wait for a usage limit. */
function fifty(): Ticket[] {
  const of = (first: number, count: number, fields: (at: number) => Record<string, unknown>) =>
    Array.from({ length: count }, (_, index) => {
      const ticketId = `T-${String(first + index).padStart(2, '0')}`;
      return ticket({
        planId: 'night',
        ticketId,
        title: `Task ${first + index}`,
        branch: `ticket/night/${ticketId}`,
        since: at(-60),
        ...fields(index),
      });
    });
  const limit = { kind: 'limit', reason: 'usage limit of claude', until: at(3960) };
  return [
    ...of(1, 33, () => ({
      status: 'complete',
      currentPhase: 'complete',
      phaseHistory: [worked('implement', 'success', 0.5)],
    })),
    ...of(34, 9, (index) => ({
      status: 'failed',
      currentPhase: 'implement',
      error: index < 6 ? 'nothing was committed' : 'npm run test exited with code 1',
      phaseHistory: [worked('implement', 'failure', 0.25)],
    })),
    ...of(43, 2, () => ({
      status: 'needs_attention',
      currentPhase: 'approve',
      hold: { kind: 'gate', reason: 'May it be merged?', until: null },
      phaseHistory: [
        worked('implement', 'success', 0.5),
        attempt('approve', 'running', { startedAt: at(-60), decisions: ['approve', 'reject'] }),
      ],
    })),
    ...of(45, 2, () => ({
      status: 'running',
      currentPhase: 'implement',
      since: at(-185),
      phaseHistory: [attempt('implement', 'running', { agent: 'claude', startedAt: at(-185) })],
    })),
    ...of(47, 4, () => ({ status: 'ready', currentPhase: 'implement', hold: limit })),
  ];
}

const one = () => fifty().slice(0, 1);

/** One that is done, one that failed and one that asks, each with a name as long as those of tasks. */
const long = () =>
  [0, 33, 42].flatMap((index, at) => {
    const ticketId = [
      'rework-the-settings-page-for-the-new',
      'fix',
      'let-people-choose-the-colours-of-a-page',
    ][at];
    return fifty()
      .slice(index, index + 1)
      .map((each) => ({ ...each, ticketId: ticketId ?? '', branch: `feature/${ticketId}` }));
  });

/** A user with one agent and git, whose clock stands still. */
function person({ dir, env, repo }: World) {
  const bin = join(dir, 'golden-bin');
  mkdirSync(bin, { recursive: true });
  for (const name of ['git', 'sh']) {
    const found = findExecutable(name, process.env);
    if (found) symlinkSync(found, join(bin, name));
  }
  writeFileSync(join(bin, 'claude'), '#!/bin/sh\necho 2.0.0\n');
  chmodSync(join(bin, 'claude'), 0o755);
  return async (columns: number, ...args: string[]): Promise<string[]> => {
    const place = { cwd: repo, env: { ...env, PATH: bin, NO_COLOR: '1' }, terminal: true, columns };
    const { out, err } = await new CliCall(args, place).ended;
    return `${out}${err}`.replaceAll(dir, '/home/you').trimEnd().split('\n');
  };
}

function store(world: World, tickets: readonly Ticket[]): void {
  const entries = tickets.map(({ ticketId, planId: _, ...fields }) => [ticketId, fields]);
  world.plan('night', { createdAt: at(-3600), tickets: Object.fromEntries(entries) });
}

describe('golden screens', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(NOW) });
    vi.stubEnv('TZ', 'UTC');
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllEnvs();
  });

  it('help', async ({ world }) => {
    const run = person(world);
    await golden('help', (columns) => run(columns, '--help'));
    await golden('help-run', (columns) => run(columns, 'run', '--help'));
  });

  it('an empty state', async ({ world }) => {
    const run = person(world);
    await golden('overview-empty', (columns) => run(columns));
    await golden('status-empty', (columns) => run(columns, 'status'));
    await golden('report-empty', (columns) => run(columns, 'report', '--since', '12h'));
    await golden('unknown-command', (columns) => run(columns, 'statsu'));
  });

  it('one ticket', async ({ world }) => {
    store(world, one());
    const run = person(world);
    await golden('overview-one', (columns) => run(columns));
    await golden('status-one', (columns) => run(columns, 'status', 'night'));
  });

  it('long names', async ({ world }) => {
    store(world, long());
    const run = person(world);
    await golden('status-long', (columns) => run(columns, 'status', 'night'));
    await golden('report-long', (columns) => run(columns, 'report', '--since', '12h'));
  });

  it('fifty tickets', async ({ world }) => {
    store(world, fifty());
    const run = person(world);
    await golden('overview-fifty', (columns) => run(columns));
    await golden('status-fifty', (columns) => run(columns, 'status'));
    await golden('report-fifty', (columns) => run(columns, 'report', '--since', '12h'));
    await golden('ticket-failed', (columns) => run(columns, 'status', 'T-34'));
  });

  it.for([
    ['one', one],
    ['fifty', fifty],
  ] as const)('the end of a plan with %s', async ([name, tickets]) => {
    const all = tickets();
    const ended = {
      plan: plan({ id: 'night', tickets: all.map(({ ticketId }) => ({ ticketId })) }),
      tickets: all,
      wanted: all.length,
      problems: [],
      held: new Map<string, string>(),
      ms: 241_000,
      stopped: false,
    };
    await golden(`summary-${name}`, (columns) => summary(ended, style(false), columns));
    // All that needs a person is on the screen when a run has ended.
    const screen = summary(ended, style(false), 80).slice(-23).join('\n');
    for (const { error, hold, status } of ended.tickets)
      if (status === 'failed' || status === 'needs_attention')
        expect(screen).toContain(error ?? hold?.reason);
  });

  it.for([
    ['one', one],
    ['fifty', fifty],
  ] as const)('the end of an issue run with %s', async ([name, tickets]) => {
    const results = tickets().map((each, index) => {
      const success = each.status === 'complete';
      return {
        issueNumber: index + 1,
        id: String(index + 1),
        title: each.title,
        success,
        durationSeconds: 340,
        branch: `feature/${index + 1}-task`,
        phaseResults: [{ phase: 'exec', success, durationSeconds: 340, usage: spent(0.5) }],
        usage: spent(0.5),
        loopTriggered: false,
        ...(each.status === 'failed'
          ? {
              abortReason: 'Phase exec failed',
              cause: each.error ?? '',
              next: `signalbox retry run-1 ${index + 1} && signalbox resume run-1`,
            }
          : each.status === 'needs_attention'
            ? { waiting: true, abortReason: 'waits for approval' }
            : success
              ? {}
              : { notStarted: true, abortReason: 'not started', phaseResults: [], usage: null }),
      } as IssueResult;
    });
    const run = { results, planId: 'run-1', exitCode: 1, wallClockDurationSeconds: 241, logPath: null };
    const result = { ...run, config: { integrate: false } } as unknown as RunResult;
    await golden(`issues-${name}`, (columns) => issueSummary(result, style(false), columns));
  });

  it.for([
    ['one', () => fifty().slice(44, 45)],
    ['fifty', fifty],
  ] as const)('the live view with %s', async ([name, tickets]) => {
    const state = liveState(Date.parse(at(-241)));
    refresh(state, tickets(), Date.parse(NOW));
    await golden(`live-${name}`, (columns, rows) =>
      frame(state, { columns, rows, above: rows, style: style(false), withPlan: false }, Date.parse(NOW)),
    );
  });
});
