import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadScenario } from '../../src/rehearsal/load-scenario.ts';
import { type Bench, makeBench, type Rehearsed, root } from './agent.ts';

const scenarios = readdirSync(join(root, 'rehearsals')).filter((name) => name.endsWith('.yaml'));
let bench: Bench;
afterEach(() => bench?.remove());

/** The demo's project, for the tests that play a scenario in it. */
function teatime(): void {
  beforeEach(() => {
    bench = makeBench();
    bench.git('config', 'user.name', 'Tester');
    bench.git('config', 'user.email', 'tester@localhost');
    cpSync(join(root, 'rehearsals/demo-project'), bench.repo, { recursive: true });
    bench.git('add', '--all');
    bench.git('commit', '--quiet', '-m', 'Teatime');
  });
}

interface Attempt {
  visit?: number;
  attempt?: number;
  resume?: boolean;
}

function attempt(scenario: string, ticket: string, phase: string, more: Attempt = {}): Promise<Rehearsed> {
  return bench.rehearse({
    scenario: join(root, 'rehearsals', `${scenario}.yaml`),
    access: phase === 'self_review' ? 'read' : 'write',
    schema: phase === 'self_review' ? reviewSchema() : undefined,
    resume: more.resume ?? false,
    env: {
      SIGNALBOX_TICKET: ticket,
      SIGNALBOX_PHASE: phase,
      SIGNALBOX_VISIT: String(more.visit ?? 1),
      SIGNALBOX_ATTEMPT: String(more.attempt ?? 1),
    },
  });
}

function reviewSchema(): unknown {
  const workflow = parse(readFileSync(join(root, 'workflows/local.yaml'), 'utf8'));
  return workflow.phases.find((phase: { id: string }) => phase.id === 'self_review').output;
}

/** True when the project's tests pass. */
function checks(): boolean {
  const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, ...env } = process.env;
  try {
    execFileSync(process.execPath, ['--test'], { cwd: bench.repo, env, stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}

const branch = (name: string) => bench.git('switch', '--quiet', '--create', name, 'main');
function merge(name: string): void {
  bench.git('switch', '--quiet', 'main');
  bench.git('merge', '--quiet', '--no-edit', name);
}
const outcome = (run: Rehearsed) => (run.last?.data as { outcome?: string } | undefined)?.outcome;

describe('shipped scenarios', () => {
  it.each(scenarios)('%s is valid', async (name) => {
    expect((await loadScenario(join(root, 'rehearsals', name))).length).toBeGreaterThan(0);
  });

  it.each(['minimal', 'local', 'standard', 'bugfix'])(
    '%s says what every kind of ticket does',
    async (name) => {
      const path = join(root, 'rehearsals', `${name}.yaml`);
      const told = new Set(
        readFileSync(path, 'utf8')
          .match(/^# {3}(\w+)…/gm)
          ?.map((line) => line.slice(4, -1)),
      );
      const rules = await loadScenario(path);
      const ruled = rules.flatMap((rule) => rule.when.ticket?.replace('*', '') ?? []);
      expect(new Set(['ok', ...ruled])).toEqual(told);
    },
  );
});

describe('the demo', () => {
  teatime();
  it('writes a project that works after every ticket and merges without a conflict', {
    tags: 'full',
  }, async () => {
    for (const ticket of ['parser', 'docs', 'cache']) branch(ticket);
    bench.git('switch', '--quiet', 'parser');
    expect((await attempt('demo', 'parser', 'implement')).code).toBe(0);
    expect(outcome(await attempt('demo', 'parser', 'self_review'))).toBe('pass');
    merge('parser');

    bench.git('switch', '--quiet', 'docs');
    expect((await attempt('demo', 'docs', 'implement')).code).toBe(0);
    expect(outcome(await attempt('demo', 'docs', 'self_review'))).toBe('fail');
    expect((await attempt('demo', 'docs', 'implement', { visit: 2, resume: true })).code).toBe(0);
    expect(outcome(await attempt('demo', 'docs', 'self_review', { visit: 2 }))).toBe('pass');
    merge('docs');

    bench.git('switch', '--quiet', 'cache');
    expect((await attempt('demo', 'cache', 'implement')).last?.type).toBe('limit');
    const resumed = await attempt('demo', 'cache', 'implement', { attempt: 2, resume: true });
    expect(resumed.last?.type).toBe('result');
    expect(outcome(await attempt('demo', 'cache', 'self_review'))).toBe('pass');
    merge('cache');

    branch('cli');
    expect((await attempt('demo', 'cli', 'implement')).code).toBe(0);
    expect(outcome(await attempt('demo', 'cli', 'self_review'))).toBe('pass');
    merge('cli');
    expect(checks()).toBe(true);
    expect(bench.git('status', '--porcelain')).toBe('');
  });
});

describe('local', () => {
  teatime();
  it('fails the checks of checks… once', { tags: 'full' }, async () => {
    branch('checks');
    await attempt('local', 'checks-1', 'implement');
    expect(checks()).toBe(false);
    await attempt('local', 'checks-1', 'implement', { visit: 2, resume: true });
    expect(checks()).toBe(true);
  });

  it('makes two conflict… tickets collide, and resolves it', async () => {
    branch('conflict-a');
    branch('conflict-b');
    await attempt('local', 'conflict-b', 'implement');
    bench.git('switch', '--quiet', 'conflict-a');
    await attempt('local', 'conflict-a', 'implement');
    merge('conflict-a');
    expect(() => merge('conflict-b')).toThrow();
    bench.git('merge', '--abort');
    bench.git('switch', '--quiet', 'conflict-b');
    const mended = await attempt('local', 'conflict-b', 'implement', { visit: 2, resume: true });
    expect(mended.last?.type).toBe('result');
    merge('conflict-b');
    expect(readFileSync(join(bench.repo, 'rehearsal/shared.md'), 'utf8')).toBe(
      'conflict-a was here\nconflict-b was here\n',
    );
  });

  it('sends review… back once and endless… always; mute… gives no verdict', async () => {
    expect(outcome(await attempt('local', 'review-1', 'self_review'))).toBe('fail');
    expect(outcome(await attempt('local', 'review-1', 'self_review', { visit: 2 }))).toBe('pass');
    expect(outcome(await attempt('local', 'endless-1', 'self_review', { visit: 3 }))).toBe('fail');
    const mute = await attempt('local', 'mute-1', 'self_review');
    expect(mute.last).toEqual({ type: 'result', text: 'I would rather not say.' });
  });

  it.each([
    ['ok-1', 'result', 1],
    ['stuck-1', 'result', 0],
    ['limit-1', 'limit', 0],
    ['retry-1', 'session', 0],
  ])('%s ends its first implement with %s after %i commits', async (ticket, last, commits) => {
    const run = await attempt('local', ticket, 'implement');
    expect(run.last?.type).toBe(last);
    expect(Number(bench.git('rev-list', '--count', 'HEAD')) - 2).toBe(commits);
  });
});

describe('minimal', () => {
  teatime();
  it.each([
    ['ok-1', 1, 'result', 1],
    ['limit-1', 1, 'limit', 0],
    ['retry-1', 1, 'text', 0],
    ['retry-1', 2, 'result', 1],
    ['dirty-1', 1, 'result', 0],
    ['dirty-1', 2, 'result', 1],
    ['stuck-1', 2, 'result', 0],
    ['broken-1', 1, 'error', 0],
  ])('%s ends attempt %i with %s after %i commits', async (ticket, number, last, commits) => {
    const run = await attempt('minimal', ticket, 'implement', { attempt: number });
    expect(run.last?.type).toBe(last);
    expect(Number(bench.git('rev-list', '--count', 'HEAD')) - 2).toBe(commits);
  });
});
