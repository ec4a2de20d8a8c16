import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Ticket } from '../../src/model/ticket.ts';
import { attempt } from '../model/build.ts';
import { CliCall } from '../support/cli-call.ts';
import { errorIn, it, type World } from './support.ts';

/** The workflow that plans of a scratch home have. */
function workflow(world: World): void {
  world.workflow('work', [
    { id: 'implement', type: 'agent', prompt: 'Do it.', onSuccess: 'complete' },
    { id: 'complete', type: 'terminal' },
  ]);
}

const FAILED = { status: 'failed', currentPhase: 'implement', error: 'no tests' } as const;

function plans(world: World): void {
  workflow(world);
  world.plan('old', { createdAt: '2026-01-01T00:00:00Z', tickets: { a: FAILED, b: FAILED } });
  world.plan('new', { createdAt: '2026-02-01T00:00:00Z', tickets: { b: FAILED, c: FAILED } });
  world.plan('done', {
    createdAt: '2025-01-01T00:00:00Z',
    status: 'complete',
    tickets: { a: { status: 'complete', currentPhase: 'complete' } },
  });
}

describe.concurrent('a ticket', () => {
  it('is named by its id alone where one open plan has it', async ({ world }) => {
    plans(world);
    expect(await world.cli('retry', 'a')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^old\/a is /),
    });
    expect((await world.cli('pause', 'a')).out).toMatch(/^old\/a is paused/);
    expect((await world.cli('logs', 'a')).code).toBe(0);
    expect((await world.cli('sessions', 'a')).out).toContain('old/a has no sessions');
  });

  it('is asked for with the commands that were possible where several have it', async ({ world }) => {
    plans(world);
    const { code, err } = await world.cli('skip', 'b', 'review');
    expect({ code, err }).toEqual({
      code: 2,
      err: '❌ 2 open plans have a ticket "b".\n   signalbox skip new b review\n   signalbox skip old b review\n',
    });
    expect(world.ticket('new', 'b').status).toBe('failed');
  });

  it.for([
    ['retry', 'Name a ticket, or a plan and a ticket.', ['retry new c', 'retry --failed old']],
    ['skip', 'Name a ticket, or a plan and a ticket.', ['skip new b <phase>', 'skip new c <phase>']],
    ['pause', 'Name a ticket, or a plan and a ticket.', ['pause new b']],
    ['respond', 'Name a ticket, or a plan and a ticket.', ['respond new b approve', 'respond new b reject']],
    ['stop', 'Name a plan or a ticket.', ['stop new', 'stop old']],
    ['cancel', 'Name a plan or a ticket.', ['cancel new', 'cancel old']],
  ] as const)(
    'is asked for by %s alone, with the commands that are possible',
    async ([command, message, candidates], { world }) => {
      plans(world);
      const asked = attempt('gate', 'running', { decisions: ['approve', 'reject'] });
      const hold = { kind: 'gate', reason: 'May it be merged?', until: null } as const;
      const b: Partial<Ticket> = {
        status: 'needs_attention',
        currentPhase: 'gate',
        hold,
        phaseHistory: [asked],
      };
      world.plan('new', { createdAt: '2026-02-01T00:00:00Z', tickets: { b, c: FAILED } });
      const { code, err } = await world.cli(command);
      expect(code).toBe(2);
      const [first, ...lines] = err.trimEnd().split('\n');
      expect(first).toBe(`❌ ${message}`);
      expect(lines.slice(0, candidates.length)).toEqual(candidates.map((line) => `   signalbox ${line}`));
    },
  );

  it('is not the one of another plan where the plan that is named does not exist', async ({ world }) => {
    plans(world);
    expect(errorIn(await world.cli('retry', 'a', 'b', '--json')).code).toBe('plan/unknown');
    expect(errorIn(await world.cli('skip', 'a', 'b', 'review', '--json')).code).toBe('plan/unknown');
    expect((await world.cli('logs', 'a', 'implement')).err).toContain(
      'It is a ticket: signalbox logs old a\n',
    );
    expect(world.ticket('old', 'a').status).toBe('failed');
  });

  it('is asked for where only its plan is named, or nothing', async ({ world }) => {
    plans(world);
    expect((await world.cli('retry', 'old')).err).toContain('Which ticket of "old"?');
    expect((await world.cli('retry', 'old')).err).toContain(
      '   signalbox retry old a\n   signalbox retry old b\n',
    );
    const half = { a: { status: 'complete', currentPhase: 'complete' }, b: FAILED } as const;
    world.plan('half', { tickets: half });
    expect((await world.cli('retry', 'half')).err).toContain('?\n   signalbox retry half b\n');
    expect((await world.cli('skip', 'half')).err).toContain('?\n   signalbox skip half b <phase>\n');
    expect((await world.cli('respond', 'half')).err).toContain('?\n   To see them: signalbox status half\n');
    expect((await world.cli('merge', 'half', 'a')).err).not.toContain('Which ticket');
    expect((await world.cli('run', '--task')).err).toContain('Option "--task <text>" needs a value.');
    expect((await world.cli('skip', 'c')).err).toContain(
      'Name the phase to continue at.\n   signalbox skip new c <phase>',
    );
    expect((await world.cli('respond', 'old', 'a')).err).toContain(
      'Cannot respond to old/a: it is at no gate that asks for a decision.',
    );
    expect(errorIn(await world.cli('pause', 'nothing', '--json')).code).toBe('plan/unknown');
  });

  it('with a typing error gets the command with the nearest one', async ({ world }) => {
    workflow(world);
    world.plan('night', { tickets: { 'add-a-greeting': FAILED } });
    expect((await world.cli('diff', 'add-greeting')).err).toBe(
      '❌ There is no plan and no open ticket "add-greeting".\n   Did you mean: signalbox diff add-a-greeting\n   Help: signalbox diff --help\n',
    );
    expect((await world.cli('status', 'nihgt')).err).toBe(
      '❌ There is no plan "nihgt".\n   Did you mean: night\n   Plans: night.\n   Help: signalbox status --help\n',
    );
    const inConfig = await world.cli('-C', join(world.home, 'config.yaml'), 'status', 'nihgt');
    expect(inConfig.err).toContain('Help: signalbox status --help\n');
    expect((await world.cli('logs', 'night', 'add-a-greting')).err).toContain(
      '   Did you mean: add-a-greeting\n',
    );
  });

  it('that no plan has gets five plans, those of this repository last', async ({ world }) => {
    workflow(world);
    for (const id of ['z1', 'z2', 'z3', 'z4', 'z5'])
      world.plan(id, { repo: join(world.dir, 'other'), tickets: { a: { repo: null } } });
    world.plan('here', { repo: world.repo, tickets: { b: { repo: null } } });
    const { err } = await world.invoke(['logs', 'do-a-thing'], {}, world.repo).ended;
    expect(err).toContain('   Plans: z2, z3, z4, z5, here and 1 more.\n');
    expect((await world.cli('diff', '@lst')).err).toContain('   The latest plan is @last.\n');
  });

  it('is one of the latest plan with @last; logs and diff need no name', async ({ world }) => {
    plans(world);
    expect((await world.cli('retry', '@last', 'c')).out).toMatch(/^new\/c is /);
    expect((await world.cli('logs')).code).toBe(0);
    expect((await world.cli('diff')).err).toContain('Which ticket of "new"?');
    expect((await world.cli('stop', '@last')).out).toMatch(/^Plan new is paused\.\n/);
  });
});

describe.concurrent('-C', () => {
  it('is named at the end of a run whose plan later commands would not find', async ({ world }) => {
    workflow(world);
    world.plan('p', { tickets: { a: FAILED } });
    const file = join(world.dir, 'own', 'config.yaml');
    cpSync(world.home, join(world.dir, 'own'), { recursive: true });
    expect((await world.cli('-C', file, 'run', 'p')).err).toContain(`: export SIGNALBOX_CONFIG=${file}\n`);
    expect((await world.cli('-C', file, 'run', 'p', '--json')).err).not.toContain('export');
    const usual = await world.cli('-C', join(world.home, 'config.yaml'), 'run', 'p');
    expect(usual.err).not.toContain('export');
  });
});

describe.concurrent('@last', () => {
  it('is a plan for every command that takes one, and a ticket id is enough also for integrate', async ({
    world,
  }) => {
    plans(world);
    const said = async (...words: string[]) => {
      const { out, err } = await world.cli(...words);
      return out + err;
    };
    expect(await said('plan', 'show', '@last')).toContain('(new), active');
    expect(await said('plan', 'check', '@last')).toContain('new');
    expect(await said('plan', 'edit', '@last', 'c', '--title', 'Other')).toContain('new/c is changed.');
    expect(await said('pause-plan', '@last')).toContain('Plan new is paused.');
    expect(await said('resume-plan', '@last')).toContain('Plan new is active.');
    expect(await said('plan', 'archive', '@last')).toContain('Plan new is archived.');
    expect(await said('plan', 'delete', '@last')).toContain('Plan new is deleted.');
    expect(await said('integrate', 'b')).toContain('old/b');
    expect(await said('integrate', '@last')).toContain('signalbox integrate old b\n');
    expect(await said('resume-session', 'b')).toContain('old/b has no session yet.');
  });

  it('in a repository without plans is refused where something would change', async ({ world }) => {
    plans(world);
    const other = join(world.dir, 'other');
    mkdirSync(join(other, '.git'), { recursive: true });
    const there = (...words: string[]) => world.invoke(words, {}, other).ended;
    expect(await there('retry', '--failed', '@last')).toMatchObject({
      code: 2,
      err: '❌ This repository has no plans.\n   The latest of other repositories:\n   signalbox retry --failed new\n   signalbox retry --failed old\n   signalbox retry --failed done\n',
    });
    for (const command of ['stop', 'cancel', 'resume', 'merge'])
      expect((await there(command, '@last')).code, command).toBe(2);
    expect((await there('logs', '@last')).code).toBe(0);
    expect((await there('status', '@last')).out).toMatch(/^new\n/);
    expect(world.ticket('new', 'b').status).toBe('failed');
  });
});

describe.concurrent('a command that only looks', () => {
  it('takes the only ticket of a plan, and a ticket of a finished plan by its id', async ({ world }) => {
    world.plan('done', {
      status: 'complete',
      tickets: { only: { status: 'complete', currentPhase: 'complete' } },
    });
    for (const words of [[], ['done'], ['@last'], ['only']])
      expect((await world.cli('diff', ...words)).err, words.join(' ')).not.toMatch(/no plan|Which ticket/);
    expect((await world.cli('logs', 'only')).code).toBe(0);
    expect((await world.cli('retry', 'only')).err).toBe(
      '❌ Ticket "only" is complete in plan "done".\n   It accepts no more commands. To see its work: signalbox diff done only\n   Help: signalbox retry --help\n',
    );
    expect((await world.cli('merge', 'only')).err).toContain('Name it, too: signalbox merge done only\n');
    for (const command of ['cancel', 'stop', 'pause'])
      expect((await world.cli(command, 'only')).err).toContain('Ticket "only" is complete in plan "done".');
    for (const command of ['status', 'diff', 'logs'])
      expect((await world.cli(command, 'onli')).err).toContain(`Did you mean: signalbox ${command} only\n`);
    expect((await world.cli('retry', 'onli')).err).not.toContain('Did you mean');
    expect((await world.cli('status', '@last')).out).toContain('done\n');
  });
});

describe.concurrent('retry --failed', () => {
  it('retries all failed tickets of one plan and says how many', async ({ world }) => {
    plans(world);
    const { code, out } = await world.cli('retry', '--failed', '@last');
    expect(code).toBe(0);
    expect(out).toMatch(/^Retried 2 failed tickets of new; estimated: cost unknown\. /);
    for (const id of ['b', 'c']) expect(world.ticket('new', id).status).not.toBe('failed');
    expect(world.ticket('old', 'a').status).toBe('failed');
    expect((await world.cli('retry', '--failed')).err).toContain('--failed needs one plan');
    expect(errorIn(await world.cli('retry', '--failed', 'nothing', '--json')).code).toBe('plan/unknown');
  });

  it('takes failures that a person is to check, and leaves questions and ends of the workflow alone', async ({
    world,
  }) => {
    workflow(world);
    const status = 'needs_attention' as const;
    const hold = { kind: 'gate', reason: 'Ok?', until: null } as const;
    world.plan('p', {
      tickets: {
        a: { ...FAILED, status },
        b: { ...FAILED, status },
        asks: { ...FAILED, status, hold, error: null },
        closed: { status, currentPhase: 'pr_closed', error: 'pr_closed: The pull request was closed.' },
      },
    });
    expect((await world.cli('status')).out).toContain(
      '    ! 2 tickets  needs attention  a, b\n                 no tests\n                 → signalbox retry --failed p\n',
    );
    expect((await world.cli('report')).out).toContain(
      'To retry the 2 failed of p\n    → signalbox retry --failed p',
    );
    expect((await world.cli('retry', '--failed', 'p')).out).toMatch(/^Retried 2 failed tickets of p; /);
    for (const id of ['asks', 'closed']) expect(world.ticket('p', id).status).toBe(status);
  });

  it('leaves out what a newer run has', async ({ world }) => {
    workflow(world);
    const source = {
      key: 'markdown:b',
      number: null,
      labels: [],
      url: null,
      repository: null,
      already: false,
    };
    world.plan('p', { tickets: { a: FAILED, b: { ...FAILED, source, supersededBy: 'run-2' } } });
    expect((await world.cli('retry', '--failed', 'p')).out).toMatch(
      /^Retried 1 failed ticket of p; estimated: cost unknown\. /,
    );
    expect(world.ticket('p', 'b').status).toBe('failed');
  });

  it('says what it will probably cost, and lists what was refused after the others were retried', async ({
    world,
  }) => {
    workflow(world);
    const at = '2026-01-01T00:00:00.000Z';
    const attempt = (status: 'failure' | 'running', costUsd: number) => ({
      ...{ phase: 'implement', status, agent: 'claude', startedAt: at },
      completedAt: status === 'running' ? null : at,
      usage: { inputTokens: 900, outputTokens: 100, cacheReadTokens: null, cacheWriteTokens: null, costUsd },
    });
    const withAttempt = (status: 'failure' | 'running') =>
      ({ ...FAILED, phaseHistory: [attempt(status, 1.5)] }) as unknown as Partial<Ticket>;
    world.plan('p', { tickets: { a: withAttempt('running'), b: withAttempt('failure') } });
    const { code, out, err } = await world.cli('retry', '--failed', 'p');
    expect(out).toMatch(
      /^Retried 1 of 2 failed tickets of p; estimated: 2\.0k tokens · \$3\.00, as their last attempts used\. /,
    );
    expect(err).toBe('! p/a was not retried: Cannot retry p/a: implement is still running.\n');
    expect(code).toBe(1);
    expect(world.ticket('p', 'b').status).not.toBe('failed');
  });

  it('asks above five, and needs --yes without a terminal', async ({ world }) => {
    workflow(world);
    const tickets = Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((id) => [id, FAILED]));
    world.plan('many', { tickets });
    const refused = await world.cli('retry', '--failed', 'many');
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('--failed many --yes') });
    const onTerminal = (input: string, columns = 80) =>
      new CliCall(['retry', '--failed', 'many'], {
        ...{ cwd: world.dir, env: { ...world.env, NO_COLOR: '1' }, input },
        ...{ terminal: true, columns },
      }).ended;
    const [first = '', second = ''] = (await onTerminal('n\n', 54)).out.split('\n');
    expect(first.length).toBeLessThan(54);
    expect(second).toMatch(/^ +\S*\? \[y\/N\] $|^ +\[y\/N\] $/);
    expect((await onTerminal('n\n')).err).toContain(
      'Nothing was retried: 6 failed tickets of many; estimated: cost unknown.',
    );
    expect(world.ticket('many', 'a').status).toBe('failed');
    expect((await onTerminal('y\n')).out).toContain(
      'Retry 6 failed tickets of many; estimated: cost unknown? [y/N] Retried 6 failed',
    );
    expect(world.ticket('many', 'f').status).not.toBe('failed');
  });
});
