import { describe, expect, test } from 'vitest';
import type { EngineEvent } from '../../../src/model/events.ts';
import type { Forecast } from '../../../src/model/limits/usage-cost-and-estimate.ts';
import { RunLines } from '../../../src/report/issue-runs/progress-lines.ts';
import { forecastLines } from '../../../src/report/issue-runs/summary-and-dry-run.ts';
import { EXEC_FLAGS, it, NumberedWorld, titled } from '../../features/issue-runs/support.ts';
import { attemptOf, status } from '../samples.ts';

/** Milliseconds that were worked on an issue, whatever the clock says. */
const worked: Record<string, number> = { 100: 312_000, 101: 247_000 };

/** A run of these issues whose clock stands still until a test moves it. */
function plain(...ids: string[]) {
  return linesOf(ids, false);
}

function linesOf(ids: string[], live: boolean) {
  const writes: string[] = [];
  const time = { ms: 0 };
  const lines = new RunLines({
    out: (line) => writes.push(line),
    clock: () => time.ms,
    nameOf: (id) => `#${id}`,
    msOf: (id) => worked[id] ?? 0,
    reasonOf: () => 'Phase exec failed',
    verbose: false,
    live,
  });
  lines.begin(new Map(ids.map((id) => [id, '⏳'])));
  const at = (seconds: number, ...events: EngineEvent[]) => {
    time.ms = seconds * 1000;
    lines.beat();
    for (const event of events) lines.listen(event);
  };
  return { lines, writes, at };
}

const MINUTE = 60;

describe('plain progress', () => {
  test('reports the wait of an issue once while reason and time are the same', () => {
    const { writes, at } = plain('100');
    const wait = (ms: number) => {
      const until = new Date(Date.UTC(2026, 2, 1, 12, 4, 5, ms)).toISOString();
      return status('100', 'ready', { hold: { kind: 'limit', reason: `claude: resets at ${until}`, until } });
    };
    at(0, wait(100), wait(200), wait(900), wait(1100));
    at(1, attemptOf('100', 'exec').start(), wait(1100));
    expect(writes.filter((line) => line.includes('waits'))).toHaveLength(3);
  });

  test('is these lines, each written at once', () => {
    const { lines, writes, at } = plain('100', '101', '102');
    const spec = (id: string) => attemptOf(id, 'spec');
    at(0, spec('100').start(), spec('101').start(), spec('102').start());
    at(59, spec('101').end({ ms: (4 * MINUTE + 6) * 1000 }));
    at(60, spec('100').end({ ms: (5 * MINUTE + 12) * 1000 }));
    at(61, spec('102').end({ status: 'failure', outcome: 'failure', ms: 1000 }));
    at(62, attemptOf('101', 'exec').start());
    const error = { class: 'evidence', message: 'nothing was committed\nIt printed:\nno' };
    at(63, attemptOf('101', 'exec').end({ status: 'failure', outcome: 'failure', error, ms: 1000 }));
    at(64, status('101', 'failed'));
    at(65, status('100', 'complete'));
    lines.close();
    expect(writes).toEqual([
      'Progress: #100 ⏳ #101 ⏳ #102 ⏳',
      '● #100: spec started',
      '● #101: spec started',
      '● #102: spec started',
      '● #101: spec ✓ (4m 6s)',
      '● #100: spec ✓ (5m 12s)',
      '● #102: spec ✗',
      '● #101: exec started',
      '● #101: exec ✗',
      '  #101   nothing was committed',
      '✗ Issue #101 failed (4m 7s): Phase exec failed',
      'Progress: #100 ⏳ #101 ✗ #102 ⏳',
      '✓ Issue #100 completed (5m 12s)',
      'Progress: #100 ✓ #101 ✗ #102 ⏳',
    ]);
  });

  test('does not tick a phase that sends its issue back, and calls issues by their names', () => {
    const { lines, writes, at } = plain('100', '101');
    const blocked = (reason: string) =>
      status('101', 'queued', { hold: { kind: 'blocked', reason, until: null } });
    at(0, blocked('waits for 100 (not complete yet), 77 (failed)'));
    for (const outcome of ['AC_NOT_MET', 'fail', 'reject'])
      at(1, attemptOf('100', 'qa').end({ outcome, ms: 1000 }));
    at(2, attemptOf('100', 'qa').end({ outcome: 'NEEDS_VERIFICATION', ms: 1000 }));
    at(3, blocked('the plan stops at the first failure, and 100 failed'));
    lines.close();
    expect(writes.slice(1)).toEqual([
      '◌ #101 waits for #100 (not complete yet), 77 (failed)',
      '● #100: qa ✗',
      '  #100   AC_NOT_MET',
      '● #100: qa ✗',
      '  #100   fail',
      '● #100: qa ✗',
      '  #100   reject',
      '● #100: qa ✓ (1s)',
      '◌ #101 waits: the plan stops at the first failure, and #100 failed',
    ]);
  });

  test('has a heartbeat after a minute of silence, and only then', () => {
    const { lines, writes, at } = plain('100');
    at(59.9);
    at(60);
    at(119.9);
    at(150, attemptOf('100', 'exec').start());
    at(195);
    at(209);
    at(210);
    lines.close();
    expect(writes.slice(1)).toEqual([
      '⏳ Still running... (1m 0s elapsed)',
      '⏳ Still running... (2m 30s elapsed)',
      '● #100: exec started',
      '⏳ Still running... (3m 30s elapsed)',
      '  Running: #100 exec',
    ]);
  });

  test('names at most five below a heartbeat', () => {
    const ids = ['1', '2', '3', '4', '5', '6', '7'];
    const { lines, writes, at } = plain(...ids);
    at(0, ...ids.map((id) => attemptOf(id, 'exec').start()));
    at(60);
    at(61, ...['1', '2', '7'].map((id) => attemptOf(id, 'exec').end()));
    at(121);
    lines.close();
    expect(writes.filter((line) => line.startsWith('  Running'))).toEqual([
      '  Running: #1 exec, #2 exec, #3 exec, #4 exec, #5 exec +2 more',
      '  Running: #3 exec, #4 exec, #5 exec, #6 exec',
    ]);
  });

  test('has the same words above a live block, without what that shows', () => {
    const events = (id: string) => [
      attemptOf(id, 'exec').start(),
      attemptOf(id, 'exec').end(),
      status(id, 'complete'),
    ];
    const piped = plain('100');
    piped.at(0, ...events('100'));
    const above = linesOf(['100'], true);
    above.at(0, ...events('100'));
    expect(above.writes).toEqual(['● #100: exec ✓ (1s)', '✓ Issue #100 completed (5m 12s)']);
    expect(piped.writes).toEqual(expect.arrayContaining(above.writes));
  });
});

describe('--json', () => {
  it('prints every event that is kept, from the first that names the run to the result', async ({
    world,
  }) => {
    world.agent('agent', 'commit');
    const issues = new NumberedWorld(world, ...titled(1));
    const { code, out, err } = await issues.cli('run', '1', '--json', '--quiet', ...EXEC_FLAGS);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const run = await issues.run();
    const told = out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
    expect(told[0]).toMatchObject({ type: 'plan:status', planId: run, status: 'active' });
    expect(told.at(-1)).toMatchObject({ type: 'result', ok: true, planId: run, exitCode: 0 });
    const types = told.map(({ type }) => type);
    for (const { type } of world.events(run)) expect(types).toContain(type);
  });
});

describe('a pipe', () => {
  const LINE =
    /^(Progress: (#\d+ [⏳✓✗] ?)+|● #\d+: \w+ (started|[✓–] \(\d+s\)|✗)|[✓✗] Issue #\d+ (completed|failed) \(\d+s\)(: .+)?|\d+ of \d+ done · \d+s · cost unknown|Log: .+|The work is on its branch\. To .+|Work is on its branches\. To .+|To merge: .+|[ ✓✗] +(issue|#\d+) .*|#\d+: .*|)$/;

  it('gets whole lines from many issues at once, without a carriage return or colour', async ({ world }) => {
    world.agent('agent', 'i=0; while [ $i -lt 200 ]; do echo "noise $i"; i=$((i+1)); done; commit');
    const numbers = [1, 2, 3, 4, 5, 6];
    const issues = new NumberedWorld(world, ...titled(...numbers));
    const { code, out, err } = await issues.cli(
      'run',
      ...numbers.map(String),
      ...EXEC_FLAGS,
      '--concurrency',
      '6',
    );
    expect({ code, err }).toEqual({ code: 0, err: '' });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(out).not.toMatch(/[\r\u001b]/);
    expect(out.split('\n').filter((line) => !LINE.test(line))).toEqual([]);
    for (const number of numbers) {
      for (const phase of ['exec', 'checks']) {
        const started = out.indexOf(`● #${number}: ${phase} started\n`);
        expect(out.indexOf(`● #${number}: ${phase} ${phase === 'checks' ? '–' : '✓'}`)).toBeGreaterThan(
          started,
        );
        expect(started).toBeGreaterThan(-1);
      }
      expect(out).toContain(`✓ Issue #${number} completed`);
    }
  });
});

test.each<[Partial<NonNullable<Forecast['estimate']>>, string]>([
  [{}, 'about 3s, about $0.50'],
  [{ seconds: { low: 2, high: 3 } }, '2s to 3s, about $0.50, from no rework to the most so far'],
  [{ usd: null }, 'about 3s, cost unknown'],
  [{ usd: { low: 0, high: 0 }, unpriced: true }, 'about 3s, cost unknown'],
  [{ unpriced: true }, 'about 3s, at least $0.50'],
])('an estimate with %j is %s', (more, text) => {
  const known = { seconds: { low: 3, high: 3 }, usd: { low: 0.5, high: 0.5 }, unpriced: false, missing: [] };
  const forecast = {
    mode: 'parallel',
    concurrency: 1,
    phases: { a: ['x'] },
    agents: [],
    models: [],
    forge: [],
  };
  const lines = forecastLines({ ...forecast, estimate: { ...known, ...more } } as unknown as Forecast);
  expect(lines.at(-1)).toBe(`estimate    ${text}`);
});
