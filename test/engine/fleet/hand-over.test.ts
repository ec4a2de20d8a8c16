import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openEngine } from '../../../src/api/open-engine-with-features.ts';
import { loadSettings } from '../../../src/config/load-settings.ts';
import type { Action, EngineContext } from '../../../src/engine/context.ts';
import { carryOutCommand } from '../../../src/engine/control-tickets-and-plans.ts';
import { runWorker } from '../../../src/engine/run-daemon-tick-and-worker.ts';
import { workspaceFor } from '../../../src/engine/work-out-workspace-and-repository.ts';
import type { EngineEvent } from '../../../src/model/events.ts';
import { Plan } from '../../../src/model/plan-schema.ts';
import { Ticket } from '../../../src/model/ticket-schema.ts';
import { storeAt } from '../../store/postgres/support.ts';
import { type Database, scratchDatabase } from '../../support/postgres.ts';
import { git } from '../../support/repo.ts';
import { waitFor } from '../../support/wait-for.ts';
import { within } from '../../support/within.ts';
import { World } from '../../support/world.ts';

/** A machine of its own: home, clone and roots are shared with no other. */
class TestMachine {
  readonly world = new World();
  readonly clone = join(this.world.dir, 'clones', 'api');
  readonly problems: string[] = [];
  engine!: EngineContext;

  static async make(): Promise<TestMachine> {
    const machine = new TestMachine();
    const { world } = machine;
    onTestFinished(() => world.close());
    world.agent('agent', AGENT);
    world.workflow('work', PHASES);
    world.config({ repos: { [origin]: machine.clone }, worktreeRoot: join(world.dir, 'trees') });
    await machine.open();
    return machine;
  }

  /** Opens the engine with the settings as they are now. */
  async open(): Promise<void> {
    const { world } = this;
    const env = world.env as Record<string, string>;
    const packageDir = new URL('../../..', import.meta.url).pathname;
    const settings = await loadSettings({ cwd: world.dir, env, packageDir });
    const listen = (event: EngineEvent) => {
      if (event.type === 'problem') this.problems.push(event.message);
    };
    const store = await storeAt(database.address);
    this.engine = openEngine({ settings, env, by: 'test', store, listen, handsOver: true });
  }

  /** Is a worker of the fleet until the ticket cannot continue without a person. */
  async run(): Promise<void> {
    const stop = new AbortController();
    const working = this.work(stop.signal);
    await waitFor('the ticket to rest', () => !isMoving(this.ticket) && this.ticket.claim === null);
    stop.abort();
    await working;
  }

  /** Is a worker of the fleet until it is stopped. */
  work(stop: AbortSignal): Promise<void> {
    const drain = new AbortController().signal;
    return runWorker(this.engine, {
      ...{ slots: 1, labels: [], version: '1' },
      drain,
      stop,
      checkEveryMs: 1000,
    });
  }

  get ticket(): Ticket {
    return this.engine.store.ticket({ planId: 'p', ticketId: 'a' });
  }

  place() {
    const { store, settings } = this.engine;
    const plan = store.plan('p');
    return { plan, workspace: workspaceFor(this.ticket, plan, settings, store.glance()) };
  }

  async respond(): Promise<void> {
    const { engine } = this;
    await engine.store.refresh();
    const answer = { type: 'respond', decision: 'go', message: '' } as const;
    await carryOutCommand(engine, { planId: 'p', ticketId: 'a' }, answer, 'a person');
  }
}

const isMoving = ({ status }: Ticket) => ['queued', 'ready', 'running'].includes(status);

/** Commits once, and leaves a new file, an edit and a deletion without a commit, beside a file that git ignores. */
const AGENT = `echo built ghp_0123456789012345678901234567890123456789; echo aside >&2
commit
[ "$SIGNALBOX_PHASE" = build ] || exit 0
echo new > new.txt; echo edited >> README.md; git rm -q --cached gone.txt; rm gone.txt
echo cache > ignored.log; echo "key: ghp_0123456789012345678901234567890123456789" > secret.txt`;

const PHASES = [
  { id: 'build', type: 'agent', prompt: 'Build it.', expect: { commits: true }, onSuccess: 'decide' },
  { id: 'decide', type: 'gate', on: { go: 'polish' } },
  { id: 'polish', type: 'agent', prompt: 'Polish it.' },
];

/** One more gate and one more phase. */
const MORE_PHASES = [
  { id: 'polish', type: 'agent', prompt: 'Polish it.', onSuccess: 'again' },
  { id: 'again', type: 'gate', on: { go: 'last' } },
  { id: 'last', type: 'agent', prompt: 'End it.' },
];

const NEW_TICKET = Ticket.parse({ planId: 'p', ticketId: 'a', title: 'T', workflow: 'work' });

let database: Database;
let origin: string;
let one: TestMachine;
let other: TestMachine;

beforeEach(async () => {
  database = await scratchDatabase();
  const home = new World();
  onTestFinished(() => home.close());
  for (const [file, text] of [
    ['.gitignore', '*.log\n'],
    ['gone.txt', 'here\n'],
  ] as const)
    writeFileSync(join(home.repo, file), text);
  git(home.repo, 'add', '--all');
  git(home.repo, 'commit', '--quiet', '--message=More');
  const bare = join(home.dir, 'origin.git');
  git(home.dir, 'clone', '--quiet', '--bare', home.repo, bare);
  origin = `file://${bare}`;
  one = await TestMachine.make();
  other = await TestMachine.make();
  const plan = Plan.parse({
    id: 'p',
    repo: origin,
    status: 'active',
    createdAt: '2026-01-01T00:00:00Z',
    tickets: [{ ticketId: 'a' }],
  });
  await one.engine.store.create(plan, [NEW_TICKET]);
});

const refs = () =>
  git(origin.slice('file://'.length), 'for-each-ref', '--format=%(refname) %(objectname)', 'refs/signalbox');

describe('a ticket on two machines that share a database and an origin', () => {
  it('begins on one and ends on the other, with all its commits and what was not committed', async () => {
    await one.run();
    const { handOver } = one.ticket;
    expect(refs()).toBe(`refs/signalbox/p/a ${handOver?.commits}\nrefs/signalbox/p/a@wip ${handOver?.wip}`);
    expect(handOver).toMatchObject({ commits: git(one.clone, 'rev-parse', 'ticket/p/a') });
    expect(one.problems).toEqual([expect.stringContaining('may contain a secret: secret.txt')]);
    await other.respond();
    await other.run();
    expect(other.ticket).toMatchObject({ status: 'complete', machine: { state: other.world.stateDir } });
    expect(other.ticket.phaseHistory.map(({ phase, status }) => `${phase} ${status}`)).toEqual([
      'build success',
      'decide success',
      'polish success',
    ]);
    expect(git(other.clone, 'log', '--format=%s', 'origin/main..ticket/p/a').split('\n')).toEqual([
      'polish',
      'build',
    ]);
    const files = git(other.clone, 'ls-tree', '-r', '--name-only', 'ticket/p/a').split('\n');
    expect(files).toEqual(['.gitignore', 'README.md', 'new.txt', 'work-a.txt']);
    expect(git(other.clone, 'show', 'ticket/p/a:README.md')).toContain('edited');
    expect(one.world.calls('start')).toHaveLength(1);
    expect(other.world.calls('start')).toHaveLength(1);
  });

  it('shows its output, without secrets, and its diff on a machine that has never seen it', async () => {
    await one.run();
    const env = { SIGNALBOX_STORE: database.address };
    const shown = async (...args: string[]) => (await other.world.invoke(args, env).ended).out;
    const logs = await shown('logs', 'p', 'a');
    expect(logs).toMatch(/── build \(agent\) .*\nbuilt \[redacted\]\naside\n── success/);
    const diff = await shown('diff', 'p', 'a');
    expect(diff).toContain('+edited');
    expect(diff).toContain('+new');
    expect(diff).not.toContain('ghp_');
    const rows = await database.query<{ attempt: string; stream: string }>(
      'select attempt, stream from signalbox.output order by stream',
    );
    expect(rows).toEqual([
      { attempt: 'build#1#1', stream: 'adapter' },
      { attempt: 'build#1#1', stream: 'stderr' },
      { attempt: 'build#1#1', stream: 'stdout' },
    ]);
  });

  it('shows its output live, within two seconds', { tags: 'full' }, async () => {
    one.world.agent('agent', 'echo begun; go; echo ended; commit');
    const running = one.run();
    await one.world.call('start');
    const follows = other.world.invoke(['logs', 'p', 'a', '-f'], { SIGNALBOX_STORE: database.address });
    await follows.says('begun');
    const before = performance.now();
    one.world.go();
    await follows.says('ended');
    expect(performance.now() - before).toBeLessThan(within(2000));
    await running;
    await follows.says('── success');
    await follows.kill('SIGINT');
  });

  it('continues in a new session, which gets the last result and the diff', { tags: 'full' }, async () => {
    for (const { world } of [one, other]) {
      world.rehearsal([
        { do: [{ run: 'echo line > file.txt' }, { say: 'I made the file.' }, { commit: 'c' }] },
      ]);
      world.config({ defaultAgent: 'rehearsal' });
      world.workflow('work', [...PHASES.slice(0, 2), { ...PHASES[2], session: 'continue' }]);
    }
    await Promise.all([one, other].map((machine) => machine.open()));
    await one.run();
    await other.respond();
    await other.run();
    expect(other.ticket.status).toBe('complete');
    const prompt = other.world.promptOf('p', 'a', 'polish.1.1');
    expect(prompt).toMatch(/begun on another machine[\s\S]*I made the file\.[\s\S]*\+line[\s\S]*Polish it\./);
    const [first, , last] = other.ticket.phaseHistory;
    expect(last?.sessionId).not.toBe(first?.sessionId);
  });

  it('comes back to a machine with older work, which keeps what was only there on a ref', {
    tags: 'full',
  }, async () => {
    for (const machine of [one, other])
      machine.world.workflow('work', [...PHASES.slice(0, 2), ...MORE_PHASES]);
    await one.run();
    await other.respond();
    await other.run();
    await one.respond();
    await one.run();
    expect(one.ticket).toMatchObject({ status: 'complete', machine: { state: one.world.stateDir } });
    const commits = git(one.clone, 'log', '--format=%s', 'origin/main..ticket/p/a').split('\n');
    expect(commits).toEqual(['last', 'polish', 'build']);
    expect(git(one.clone, 'show', 'refs/signalbox/left/p/a-here-1:secret.txt')).toContain('key: ');
    expect(one.problems.join()).not.toContain('was changed');
  });

  it('refuses the late push of a machine that lost the ticket', { tags: 'full' }, async () => {
    await one.run();
    const { plan, workspace } = one.place();
    await other.respond();
    await other.run();
    const before = refs();
    writeFileSync(join(workspace.path, 'late.txt'), 'late');
    const late = one.engine.handOver?.publish(plan, { engine: one.engine, ticket: one.ticket, workspace });
    await expect(late).rejects.toMatchObject({ code: 'claim/lost' });
    expect(refs()).toBe(before);
  });

  it('of which another worker has taken the claim is neither written nor acted for', {
    tags: 'full',
  }, async () => {
    const done: string[] = [];
    // A step that begins while it has the claim, and has lost it when it is about to act.
    const push: Action = async ({ engine, ref }) => {
      done.push('begun');
      await other.engine.store.updateTicket(ref, (ticket) => ({
        ...ticket,
        claim: other.engine.holder.claim('2026-01-01'),
      }));
      await engine.mayAct?.();
      done.push('pushed');
      return { exit: 0 };
    };
    one.world.workflow('work', [{ id: 'push', type: 'action', action: 'integrate' }]);
    one.engine.actions = { ...one.engine.actions, integrate: push };
    const stop = new AbortController();
    const working = one.work(stop.signal);
    await waitFor('the step', () => done.length > 0);
    stop.abort();
    await working;
    await other.engine.store.refresh();
    expect(done).toEqual(['begun']);
    const { claim, status, phaseHistory } = other.ticket;
    expect([claim?.token, status]).toEqual([other.engine.holder.token, 'running']);
    expect(phaseHistory.map((attempt) => attempt.status)).toEqual(['running']);
  });

  it('stays on its machine where its repository has no origin, and says so', { tags: 'full' }, async () => {
    mkdirSync(dirname(one.clone), { recursive: true });
    git(one.world.dir, 'clone', '--quiet', origin, one.clone);
    git(one.clone, 'remote', 'remove', 'origin');
    await one.run();
    expect(one.ticket.handOver).toEqual({
      commits: null,
      wip: null,
      onlyHere: 'its repository has no origin',
    });
    expect(one.problems).toContain(
      'No other machine can continue this ticket: its repository has no origin.',
    );
    expect(refs()).toBe('');
  });

  it('replaces what an earlier plan of the same name left on origin', { tags: 'full' }, async () => {
    await one.run();
    const [, old] = refs().split('\n');
    const plan = one.engine.store.plan('p');
    await one.engine.store.deletePlan('p');
    await one.engine.store.create({ ...plan, createdAt: '2026-02-02T00:00:00Z', claim: null }, [NEW_TICKET]);
    await other.engine.store.refresh();
    await other.run();
    expect(other.problems.filter((text) => text.includes('was changed'))).toEqual([]);
    expect(other.ticket.handOver?.commits).toBe(git(other.clone, 'rev-parse', 'ticket/p/a'));
    expect(refs()).not.toContain(old);
  });
});
