import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Ticket } from '../../src/model/ticket.ts';
import { ROUTES, type RouteName } from '../../src/web/routes.ts';
import type {
  PlanPage,
  TicketPage,
  Transcript,
} from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { CLI } from '../support/cli.ts';
import { it, type World } from '../support/index.ts';
import { within } from '../support/within.ts';
import { TestSite } from './site.ts';

const GATE = { id: 'ask', type: 'gate', prompt: 'Go on?', on: { approve: 'second', reject: 'done' } };
const SECOND = { id: 'second', type: 'gate', prompt: 'Really?', on: { approve: 'done', reject: 'done' } };
const TICKET = '/plans/p/tickets/a';

const WORKFLOW = [
  { id: 'build', type: 'agent', prompt: 'build <it>', onSuccess: 'ask' },
  GATE,
  SECOND,
  { id: 'done', type: 'terminal' },
];

/** A plan whose ticket has worked with an agent and waits at a gate. */
async function afterRun(world: World): Promise<TestSite> {
  world.agent('agent', 'commit');
  world.workflow('work', WORKFLOW);
  world.plan('p', { tickets: { a: { title: 'First' }, b: { blockedBy: ['a'] } } });
  expect((await world.cli('run', 'p')).code).toBe(1);
  return TestSite.open(world);
}

const OUTPUT = '\u001b[32mgreen\u001b[0m <b>bold</b>\u001b[2J\u0007\n';

/** The same as it would be stored, without the time that a run takes. */
async function atGate(world: World): Promise<TestSite> {
  const startedAt = new Date().toISOString();
  world.workflow('work', WORKFLOW);
  const build = {
    phase: 'build',
    status: 'success',
    outcome: 'success',
    agent: 'agent',
    completedAt: startedAt,
  };
  const ask = {
    phase: 'ask',
    status: 'running',
    asks: 'Go on? (approve | reject)',
    decisions: ['approve', 'reject'],
  };
  world.plan('p', {
    tickets: {
      a: {
        title: 'First',
        status: 'needs_attention',
        currentPhase: 'ask',
        hold: { kind: 'gate', reason: ask.asks },
        phaseHistory: [build, ask].map((each) => ({ ...each, startedAt })),
        visits: { build: 1, ask: 1 },
      } as unknown as Partial<Ticket>,
      b: { blockedBy: ['a'] },
    },
  });
  const dir = join(world.stateDir, 'jobs', 'p', 'a', 'build.1.1');
  mkdirSync(dir, { recursive: true });
  for (const [name, text] of Object.entries({ stdout: OUTPUT, stderr: '', 'prompt.md': 'build <it>' }))
    writeFileSync(join(dir, name), text);
  return TestSite.open(world);
}

const shapeOf = (name: RouteName) => {
  const route = ROUTES[name];
  if (!('answers' in route)) throw new Error(`${name} has no answer`);
  return route.answers;
};

describe.concurrent('every read', () => {
  it('has the shape that the API describes, and what the command line prints', async ({ world }) => {
    const site = await afterRun(world);
    const attempt = `${TICKET}/attempts/${encodeURIComponent('build#1#1')}`;
    const paths: [RouteName, string][] = [
      ['session', '/session'],
      ['board', '/board'],
      ['status', '/status'],
      ['status', '/status?all=true'],
      ['plans', '/plans'],
      ['plan', '/plans/p'],
      ['events', '/plans/p/events'],
      ['events', '/plans/p/events?ticket=a&last=2'],
      ['ticket', TICKET],
      ['transcript', `${attempt}/transcript`],
      ['output', `${attempt}/output?stream=stderr`],
      ['prompt', `${attempt}/prompt`],
      ['diff', `${TICKET}/diff`],
      ['diff', `${TICKET}/diff?stat=true`],
      ['costs', '/costs'],
      ['costs', '/costs?since=12h&plan=p'],
      ['stats', '/stats'],
      ['report', '/report'],
      ['report', '/report?plan=p'],
    ];
    for (const [name, path] of paths) {
      const result = shapeOf(name).safeParse(await site.get(path));
      expect(result.error?.issues, path).toBeUndefined();
    }
    expect(site.errors).toEqual([]);
    expect(await site.get('/status?all=true')).toEqual(await world.json('status'));
    // A plan that has just finished, and a failure beside the question.
    world.plan('old', { status: 'complete', tickets: { z: { status: 'complete' } } });
    world.plan('worse', { tickets: { f: { status: 'failed', error: 'it broke' } } });
    const { at: _, ...board } = await site.get<Record<string, unknown>>('/board');
    const { at: __, ...top } = await world.json<Record<string, unknown>>('top', '--all');
    expect(board).toEqual(top);
    expect(board.counts).toMatchObject({ done: 1, 'need you': 2 });
    const { cut, ...diff } = await site.get<{ cut: number }>(`${TICKET}/diff`);
    expect(cut).toBe(0);
    expect(diff).toEqual(await world.json('diff', 'p', 'a'));
    const { out } = await world.cli('logs', 'p', '--json');
    expect(await site.get('/plans/p/events')).toEqual(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    );
    const {
      period: _p,
      since: _s,
      until: _u,
      ...report
    } = await site.get<Record<string, unknown>>('/report?plan=p');
    // A question gets older between the two.
    const ageless = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll(/open for \w+/g, 'open'));
    expect(ageless(await world.json('report', '--plan', 'p'))).toMatchObject(ageless(report));
    await site.close();
  });

  it('of plans or costs does not read finished plans again until they change', async ({ world }) => {
    const completedAt = new Date().toISOString();
    const attempt = {
      phase: 'build',
      status: 'success',
      startedAt: completedAt,
      completedAt,
      agent: 'agent',
    };
    const done = { status: 'complete' as const, phaseHistory: [attempt] as never };
    world.plan('old', { status: 'archived', tickets: { a: done, b: done } });
    const site = await TestSite.open(world);
    const seen = async () => {
      const [plan] = await site.get<{ name: string; complete: number }[]>('/plans');
      const { rows } = await site.get<{ rows: { attempts: number }[] }>('/costs');
      return [plan?.name, plan?.complete, rows.map(({ attempts }) => attempts)];
    };
    const before = await seen();
    expect(before.slice(1)).toEqual([2, [2]]);
    rmSync(join(world.stateDir, 'plans', 'old', 'tickets', 'b.json'));
    expect(await seen()).toEqual(before);
    await site.engine.store.updatePlan('old', (plan) => ({ ...plan, name: 'Another' }));
    expect(await seen()).toEqual(['Another', 1, [1]]);
    await site.close();
  });

  it('shows a ticket with its phases, its gate, and commands to copy', async ({ world }) => {
    const site = await atGate(world);
    const worktree = join(world.dir, "Ada's tree");
    mkdirSync(worktree);
    world.writeTicket('p', 'a', { ...world.ticket('p', 'a'), worktree });
    const empty = join(world.stateDir, 'jobs', 'p', 'a', 'ask.1.1');
    mkdirSync(empty);
    writeFileSync(join(empty, 'prompt.md'), '');
    const page = await site.get<TicketPage>(TICKET);
    expect(page.phases.map(({ id, attempts }) => [id, attempts])).toEqual([
      ['build', ['build#1#1']],
      ['ask', ['ask#1#1']],
      ['second', []],
      ['done', []],
    ]);
    expect(page.gate).toEqual({ key: 'ask#1#1', asks: 'Go on?', decisions: ['approve', 'reject'] });
    expect(page.legal).toEqual(['respond', 'retry', 'skip', 'pause', 'cancel']);
    expect(page.attempts[0]).toMatchObject({ key: 'build#1#1', hasPrompt: true });
    expect(page.attempts[1]).toMatchObject({ key: 'ask#1#1', hasPrompt: false });
    expect(page.commands.map(({ command }) => command)).toContain('signalbox logs p a -f');
    const { command: cd = '' } = page.commands.find(({ command }) => command.startsWith('cd ')) ?? {};
    expect(spawnSync('sh', ['-c', `${cd} && pwd`]).stdout.toString()).toBe(`${worktree}\n`);
    const plan = await site.get<PlanPage>('/plans/p');
    expect(plan.legal).toEqual(['pause', 'cancel']);
    const commands = ({ commands: all }: PlanPage) => all.map(({ command }) => command);
    expect(commands(plan)).toEqual([
      'signalbox run p',
      'signalbox plan check p',
      'signalbox clean',
      'signalbox plan delete p',
    ]);
    expect((await world.cli('pause-plan', 'p')).code).toBe(0);
    world.writeTicket('p', 'b', { ...world.ticket('p', 'b'), status: 'complete' });
    expect(commands(await site.get<PlanPage>('/plans/p')).slice(0, 2)).toEqual([
      'signalbox resume p',
      'signalbox merge p',
    ]);
    world.plan('d', { status: 'draft', tickets: { x: {} } });
    expect((await site.get<TicketPage>('/plans/d/tickets/x')).legal).not.toContain('cancel');
    await site.close();
  });

  it('refuses what does not exist in the words of the command line', async ({ world }) => {
    const site = await atGate(world);
    for (const [path, ...words] of [
      ['/plans/nope', 'status', 'nope', 'x'],
      ['/plans/p/tickets/nope', 'status', 'p', 'nope'],
      ['/plans/..%2f..%2fx', 'plan', 'show', '../../x'],
    ]) {
      const answer = await site.send(`/api/v1${path}`);
      const told = JSON.parse((await world.cli(...words, '--json')).err) as { error: { message: string } };
      expect([400, 404]).toContain(answer.status);
      expect(answer.json<{ error: object }>().error).toMatchObject({ message: told.error.message });
    }
    const attempts = `/api/v1${TICKET}/attempts/`;
    for (const key of ['nope', '..%2f..%2fstate', 'build%231%232'])
      expect((await site.send(`${attempts}${key}/transcript`)).status).toBe(404);
    await site.close();
  });
});

describe.concurrent('a decision', () => {
  it('answers a gate, and is recorded with its door and its person', async ({ world }) => {
    const site = await atGate(world);
    const answer = await site.post(`${TICKET}/respond`, {
      decision: 'approve',
      message: 'fine\u001b[2J',
      attempt: 'ask#1#1',
      by: 'Grace',
    });
    expect(answer.json()).toMatchObject({
      ticket: { status: 'ready', currentPhase: 'second' },
      text: 'p/a is ready at second. Run it with: signalbox run p',
    });
    expect(world.ticket('p', 'a').phaseHistory[1]).toMatchObject({
      outcome: 'approve',
      output: 'fine',
      answeredBy: { by: 'Grace', door: 'web' },
    });
    expect(world.events('p').findLast(({ type }) => type === 'command')).toMatchObject({
      command: 'respond',
      by: 'Grace',
      door: 'web',
    });
    await world.cli('pause', 'p', 'a');
    expect(world.events('p').findLast(({ type }) => type === 'command')).toMatchObject({ door: 'cli' });
    await site.close();
  });

  it('of the second person is refused and names the first', async ({ world }) => {
    const site = await atGate(world);
    const send = (by: string, decision: string) =>
      site.post(`${TICKET}/respond`, { decision, attempt: 'ask#1#1', by });
    const both = await Promise.all([send('Ada', 'approve'), send('Bob', 'reject')]);
    const [won, lost] = both[0].status === 200 ? both : both.toReversed();
    expect([won?.status, lost?.status]).toEqual([200, 409]);
    const first = both[0].status === 200 ? 'approve by Ada' : 'reject by Bob';
    expect(lost?.json<{ error: { code: string; message: string } }>().error).toMatchObject({
      code: 'gate/answered',
      message: expect.stringContaining(`Gate "ask" of p/a was already answered: ${first} (web) at `),
    });
    const told = await world.cli('respond', 'p', 'a', 'approve');
    expect(told.err).toContain(`Gate "ask" of p/a was already answered: ${first} (web) at `);
    await site.close();
  });

  it('is refused in the words of the command line', async ({ world }) => {
    const site = await atGate(world);
    const cases: [string, object, string[]][] = [
      ['resume', {}, ['resume', 'p', 'a']],
      ['stop', {}, ['stop', 'p', 'a']],
      ['skip', { phase: 'nowhere' }, ['skip', 'p', 'a', 'nowhere']],
      ['retry', { phase: 'nowhere' }, ['skip', 'p', 'a', 'nowhere']],
      ['respond', { decision: 'maybe', attempt: 'ask#1#1' }, ['respond', 'p', 'a', 'maybe']],
    ];
    for (const [name, body, words] of cases) {
      const { status, json } = await site.post(`${TICKET}/${name}`, body);
      const told = JSON.parse((await world.cli(...words, '--json')).err) as object;
      expect(status).toBe(409);
      expect(json()).toEqual(told);
    }
    const approve = await site.post('/plans/p/approve', {});
    expect(approve.json()).toEqual(JSON.parse((await world.cli('plan', 'approve', 'p', '--json')).err));
    await site.close();
  });

  it('retries, retries from a phase, skips, pauses, resumes and cancels', async ({ world }) => {
    const site = await atGate(world);
    const does = async (path: string, body: object) => (await site.post(path, body)).json<object>();
    expect(await does(`${TICKET}/retry`, { phase: 'build' })).toMatchObject({
      ticket: { status: 'ready', currentPhase: 'build' },
      text: 'p/a is ready at build. Run it with: signalbox run p',
    });
    expect(await does(`${TICKET}/pause`, {})).toMatchObject({ ticket: { status: 'paused' } });
    expect(await does(`${TICKET}/resume`, {})).toMatchObject({ ticket: { status: 'ready' } });
    expect(await does(`${TICKET}/stop`, {})).toMatchObject({ ticket: { status: 'paused' } });
    expect(await does(`${TICKET}/skip`, { phase: 'done' })).toMatchObject({ ticket: { status: 'complete' } });
    expect(await does(`${TICKET}/cancel`, {})).toMatchObject({
      error: { message: 'Cannot cancel p/a: it is complete, and stays as it is.' },
    });
    expect(await does('/plans/p/pause', { by: 'Ada' })).toMatchObject({ plan: { status: 'paused' } });
    expect(world.events('p').at(-1)).toMatchObject({ type: 'plan:status', by: 'Ada', door: 'web' });
    expect(await does('/plans/p/resume', {})).toMatchObject({ plan: { status: 'active' } });
    expect(await does('/plans/p/tickets/b/cancel', {})).toMatchObject({
      ticket: { status: 'failed' },
      text: 'p/b is cancelled.',
    });
    expect(await does('/plans/p/cancel', {})).toMatchObject({ plan: { status: 'archived' } });
    world.plan('q', { status: 'draft', tickets: { c: {} } });
    expect(await does('/plans/q/approve', {})).toMatchObject({ plan: { status: 'active' } });
    // Its only ticket: the plan would stay open for ever.
    expect(await does('/plans/q/tickets/c/cancel', {})).toMatchObject({
      ticket: { status: 'failed' },
      text: 'Plan q is cancelled and archived.',
    });
    expect(world.readPlan('q').status).toBe('archived');
    expect((await site.get<TicketPage>('/plans/q/tickets/c')).legal).not.toContain('cancel');
    expect(site.errors).toEqual([]);
    await site.close();
  });

  it('of a job is refused, on the command line and on the page', async ({ world }) => {
    const site = await atGate(world);
    const job = { SIGNALBOX_JOB: join(world.stateDir, 'jobs', 'p', 'a', 'build.1.1') };
    world.plan('issues', { kind: 'run', status: 'paused', repo: world.repo, tickets: { i: {} } });
    for (const words of [
      ['respond', 'p', 'a', 'approve'],
      ['retry', 'p', 'a'],
      ['skip', 'p', 'a', 'done'],
      ['pause', 'p', 'a'],
      ['resume', 'p'],
      ['resume', 'issues'],
      ['resume-plan', 'p'],
      ['pause-plan', 'p'],
      ['stop', 'p'],
      ['cancel', 'p', 'a', '--yes'],
      ['cancel', 'p', '--yes'],
      ['plan', 'approve', 'p'],
      ['plan', 'archive', 'p'],
      ['plan', 'delete', 'p'],
      ['plan', 'edit', 'p', '--name', 'Other'],
      ['plan', 'edit', 'p', 'b', '--title', 'Other'],
      ['plan', 'add', 'p', 'c', '--title', 'More'],
      ['plan', 'remove', 'p', 'b'],
      ['integrate', 'p', 'b'],
      ['forge', 'merge', 'p', 'b'],
      ['merge', 'p'],
      ['daemon', 'stop'],
      ['config', 'trust', '.'],
      ['web', '--new-token'],
    ]) {
      const { code, err } = await world.invoke([...words, '--json'], job).ended;
      expect([code, JSON.parse(err).error.code], words.join(' ')).toEqual([1, 'job/decides']);
    }
    expect(world.ticket('p', 'a').status).toBe('needs_attention');
    // A draft is only prepared: a person approves it.
    world.plan('d', { status: 'draft', tickets: { x: {} } });
    expect((await world.invoke(['plan', 'add', 'd', 'y', '--title', 'More'], job).ended).code).toBe(0);
    // A job of another Signalbox, in which someone works on this one.
    const other = { SIGNALBOX_JOB: '/elsewhere/state/jobs/x' };
    expect((await world.invoke(['respond', 'p', 'a', 'reject'], other).ended).code).toBe(0);
    await site.close();
  });

  it.runIf(process.platform === 'linux')('of a job does not even reach the page', async ({ world }) => {
    world.workflow('work', [
      { id: 'try', type: 'script', command: 'try.sh', onSuccess: 'done', onFailure: 'done' },
      { id: 'done', type: 'terminal' },
    ]);
    const site = await TestSite.open(world);
    const url = `http://127.0.0.1:${site.server.port}/api/v1/session`;
    const ask = `fetch(process.argv[1], { headers: { authorization: 'Bearer ${site.token}' } })
      .then((answer) => console.log('reached', answer.status), () => console.log('cut off'))`;
    writeFileSync(join(world.dir, 'ask.mjs'), ask);
    const node = `"${process.execPath}" "${join(world.dir, 'ask.mjs')}" ${url}`;
    const pause = `"${process.execPath}" "${CLI}" pause j b 2>&1`;
    world.script('try.sh', `${node}; env -u SIGNALBOX_JOB ${node}; env -u SIGNALBOX_JOB ${pause}; true`);
    world.plan('j', { tickets: { a: {}, b: { status: 'complete' } } });
    expect((await world.cli('run', 'j')).code).toBe(0);
    const [output] = world.jobDirs().map((dir) => readFileSync(join(dir, 'stdout'), 'utf8'));
    expect(output).toMatch(/^cut off\ncut off\n❌ A job cannot decide about tickets and plans\.\n/);
    await site.close();
  });

  it.runIf(process.platform === 'linux')(
    'of a sender that is gone before it was looked at is refused',
    async ({ world }) => {
      const site = await atGate(world);
      const body = JSON.stringify({ decision: 'approve', message: '', attempt: 'ask#1#1' });
      const text = [
        `POST /api/v1${TICKET}/respond HTTP/1.1`,
        `host: ${site.host}`,
        `origin: http://${site.host}`,
        'x-signalbox: 1',
        `authorization: Bearer ${site.token}`,
        'content-type: application/json',
        `content-length: ${body.length}`,
        '',
        body,
      ].join('\r\n');
      // A process of its own: it is gone before this one accepts the connection.
      const send = `const s = require('node:net').connect(${site.server.port}, '127.0.0.1', () =>
        s.write(process.argv[1], () => process.exit()))`;
      expect(spawnSync(process.execPath, ['-e', send, text]).status).toBe(0);
      // The question is still open.
      const answer = { decision: 'reject', message: '', attempt: 'ask#1#1' };
      expect((await site.post(`${TICKET}/respond`, answer)).status).toBe(200);
      expect(world.ticket('p', 'a').status).toBe('complete');
      await site.close();
    },
  );
});

describe.concurrent('a transcript', () => {
  it('keeps colours and leaves everything else as text', async ({ world }) => {
    const site = await atGate(world);
    const { entries, ended } = await site.get<Transcript>(`${TICKET}/attempts/build%231%231/transcript`);
    expect(ended).toBe(true);
    expect(entries[0]).toMatchObject({ text: '\u001b[32mgreen\u001b[0m <b>bold</b>', tool: null });
    const prompt = await site.get<{ text: string }>(`${TICKET}/attempts/build%231%231/prompt`);
    expect(prompt.text).toContain('build <it>');
    await site.close();
  });

  it('of one line without end is bounded, shows both of its ends, and says what is left out', async ({
    world,
  }) => {
    const site = await atGate(world);
    const file = join(world.stateDir, 'jobs', 'p', 'a', 'build.1.1', 'stdout');
    const secret = `ghp_${'aB3dE6gH9jK2'.repeat(3)}`;
    // One secret lies across each cut of the transcript.
    const filled = (length: number) =>
      '\u001b[31mred \u001b[32mgreen '.repeat(length / 20).padEnd(length, '.');
    const [head, tail] = [filled(32 * 1024 - 20), filled(32 * 1024 - 20)];
    writeFileSync(file, `The start ${head} ${secret} ${filled(4e6)} ${secret} ${tail} the end`);
    const attempt = `${TICKET}/attempts/build%231%231`;
    const { entries } = await site.get<Transcript>(`${attempt}/transcript`);
    const [{ text = '', cut = 0 } = {}, ...more] = entries;
    expect(more).toEqual([]);
    expect([text.slice(0, 9), text.slice(-8)]).toEqual(['The start', ' the end']);
    expect(text).toContain(`[${cut} characters are left out here. The file is ${file}.]`);
    expect(cut).toBeGreaterThan(3.9e6);
    expect(text).not.toMatch(/aB3dE6|gH9jK2/);
    for (const colour of text.split('\u001b').slice(1)) expect(colour).toMatch(/^\[\d+m/);
    const raw = await site.get<{ text: string }>(`${attempt}/output`);
    expect(raw.text.length).toBeLessThan(70_000);
    expect([raw.text.slice(0, 9), raw.text.slice(-8)]).toEqual(['The start', ' the end']);
    expect(raw.text).toContain(`characters are left out here. The file is ${file}.]`);
    await site.close();
  });

  it('of 50 MB is read in windows from its end, and only these', async ({ world }) => {
    const site = await atGate(world);
    const dir = join(world.stateDir, 'jobs', 'p', 'a', 'build.1.1');
    const line = (n: number) => `${String(n).padStart(9, '0')} ${'x'.repeat(1013)}\n`;
    writeFileSync(join(dir, 'stdout'), '');
    for (let n = 0; n < 51_200; n += 1024)
      appendFileSync(join(dir, 'stdout'), Array.from({ length: 1024 }, (_, at) => line(n + at)).join(''));
    const at = (query: string) => site.get<Transcript>(`${TICKET}/attempts/build%231%231/transcript${query}`);
    const began = performance.now();
    const end = await at('');
    expect(performance.now() - began).toBeLessThan(within(3_000));
    expect(end).toMatchObject({ size: 51_200 * 1024, to: end.size, ended: true });
    expect(end.entries.at(-1)?.text).toContain('000051199 ');
    const above = await at(`?before=${end.from}`);
    expect(above.to).toBe(end.from);
    const numberOf = (text: string | undefined) => Number(text?.slice(0, 9));
    expect(numberOf(above.entries.at(-1)?.text)).toBe(numberOf(end.entries[0]?.text) - 1);
    const below = await at(`?after=${above.from}&bytes=${above.to - above.from}`);
    expect(below.entries).toEqual(above.entries);
    const first = await at('?after=0&bytes=5000');
    expect(first).toMatchObject({ from: 0, to: 4096 });
    expect(await at('?before=0')).toMatchObject({ from: 0, to: 0, entries: [] });
    await site.close();
  });
});
