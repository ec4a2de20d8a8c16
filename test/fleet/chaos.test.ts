import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { CLI } from '../support/cli.ts';
import { FleetWorld } from '../support/fleet.ts';
import { ownServer, pgCtl } from '../support/postgres.ts';
import { randomFrom } from '../support/random.ts';
import { commitsOf, git } from '../support/repo.ts';
import { waitFor } from '../support/wait-for.ts';
import { writeAgent } from './chaos/agent.ts';
import { judge, readRuns } from './chaos/judge.ts';
import { Machines } from './chaos/machines.ts';

const LEASE_MS = 12_000;
const LIMITS = { all: 8, perRepository: 2 };
const PHASES = ['build', 'check', 'polish'];
const REPOSITORIES = 5;
const TICKETS = 200;
const KILLS = 30;

type Trouble =
  | 'kill a worker'
  | 'kill the scheduler'
  | 'freeze'
  | 'freeze the scheduler'
  | 'cut'
  | 'fast'
  | 'immediate';

/** All troubles in a random order. */
function troublesBy(random: () => number): Trouble[] {
  const all: Trouble[] = Array.from({ length: KILLS }, (_, index) =>
    index % 3 === 0 ? 'kill the scheduler' : 'kill a worker',
  );
  all.push('freeze', 'freeze the scheduler', 'cut', 'fast', 'immediate', 'freeze', 'cut');
  return all
    .map((trouble) => ({ trouble, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ trouble }) => trouble);
}

/** The same program with another version number. */
function otherVersion(dir: string): string {
  const root = dirname(dirname(CLI));
  const copy = join(dir, 'other-version');
  mkdirSync(copy);
  for (const name of readdirSync(root))
    if (name !== 'dist' && name !== 'package.json') symlinkSync(join(root, name), join(copy, name));
  const text = readFileSync(join(root, 'package.json'), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  writeFileSync(join(copy, 'package.json'), text.replace(`"${version}"`, '"99.0.0"'));
  cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true });
  for (const name of readdirSync(join(copy, 'dist'), { recursive: true, encoding: 'utf8' })) {
    if (!/\.c?js$/.test(name)) continue;
    const file = join(copy, 'dist', name);
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(`"${version}"`, '"99.0.0"'));
  }
  return join(copy, 'dist', basename(CLI));
}

it('a fleet loses, doubles and exceeds nothing through kills, stops, cuts and restarts of the database', {
  tags: 'full',
}, async () => {
  const seed = Number(process.env.SIGNALBOX_CHAOS_SEED) || (Date.now() % 1_000_000) + 1;
  console.log(`SIGNALBOX_CHAOS_SEED=${seed}`);
  const random = randomFrom(seed);
  const began = Date.now();
  const fleet = await FleetWorld.open(await ownServer());
  const { world } = fleet;
  const { log, command } = writeAgent(world.dir, seed);
  const names = Array.from({ length: REPOSITORIES }, (_, index) => `r${index + 1}`);
  const bare = (name: string) => join(world.dir, `${name}.git`);
  for (const name of names) git(world.dir, 'clone', '--quiet', '--bare', world.repo, bare(name));
  world.config({
    ...{ defaultAgent: 'chaos', agents: { chaos: { adapter: 'custom', command } } },
    repos: Object.fromEntries(names.map((name) => [`file://${bare(name)}`, `~/clones/${name}`])),
    worktreeRoot: '~/trees',
    fleet: { leaseSeconds: LEASE_MS / 1000, maxConcurrency: LIMITS.all },
    maxPerRepository: LIMITS.perRepository,
  });
  world.workflow(
    'work',
    PHASES.map((id, index) => ({
      ...{ id, type: 'agent', prompt: `${id}.`, expect: { commits: true } },
      ...(PHASES[index + 1] ? { onSuccess: PHASES[index + 1] } : {}),
    })),
  );
  const each = TICKETS / REPOSITORIES;
  for (const name of names) {
    // The agents of the long ones run for longer than the lease.
    const ids = Array.from(
      { length: each },
      (_, index) => `t-${String(index + 1).padStart(2, '0')}${index % 16 === 2 ? 'L' : ''}`,
    );
    world.plan(name, {
      repo: `file://${bare(name)}`,
      install: false,
      tickets: Object.fromEntries(ids.map((id) => [id, {}])),
    });
  }
  await fleet.upload(...names);

  const machines = new Machines({
    fleet,
    leaseMs: LEASE_MS,
    slots: 3,
    otherVersion: otherVersion(world.dir),
  });
  await Promise.all([1, 2, 3, 4].map(() => machines.add()));

  const schedulerPid = async () => {
    const [role] = await fleet.database.query<{ claim: string }>(
      "select claim from signalbox.roles where name = 'scheduler'",
    );
    return role ? (JSON.parse(role.claim) as { pid: number }).pid : undefined;
  };
  const anyOf = async (scheduler: boolean) => {
    const pid = scheduler ? await schedulerPid().catch(() => undefined) : undefined;
    const { present } = machines;
    return (
      present.find(({ worker }) => worker?.pid === pid) ?? present[Math.floor(random() * present.length)]
    );
  };
  const ended = () => readFileSync(log, 'utf8').split('\nend\t').length - 1;
  const all = TICKETS * PHASES.length;
  const done: string[] = [];
  let kills = 0;
  const troubles = troublesBy(random);
  for (const [index, trouble] of troubles.entries()) {
    const mark = Math.floor(((index + random()) / troubles.length) * all * 0.85) + 3;
    await waitFor(
      `${mark} of ${all} phases before: ${trouble}`,
      () => ended() >= mark && machines.present.length > 1,
      {
        timeoutMs: 60_000,
        state: () => `${done.join('\n')}\n${ended()}\n${machines.said}`,
      },
    );
    const machine = await anyOf(trouble.endsWith('scheduler'));
    done.push(
      `${((Date.now() - began) / 1000).toFixed(1)} s, ${ended()} phases: ${trouble} ${machine?.name}`,
    );
    if (!machine) continue;
    if (trouble === 'fast' || trouble === 'immediate')
      await pgCtl(fleet.database.server, 'restart', `--mode=${trouble}`);
    else if (trouble === 'cut') machines.cut(machine, 1.5 * LEASE_MS);
    else if (trouble.startsWith('freeze')) machines.freeze(machine, 1.5 * LEASE_MS);
    else machines.kill(machine, kills++ % 2 === 0 ? 'never' : { afterMs: (random() * LEASE_MS) / 4 });
  }
  const troubledMs = Date.now() - began;
  await machines.settled();
  const open = () =>
    names
      .flatMap((name) => fleet.store.tickets(name))
      .filter(({ status, claim }) => status !== 'complete' || claim);
  await waitFor(
    'all tickets to be complete',
    async () => {
      await fleet.store.refresh();
      return open().length === 0;
    },
    { timeoutMs: 120_000 },
  ).catch((error: unknown) => console.log(String(error).slice(0, 200)));

  const runs = readRuns(readFileSync(log, 'utf8'));
  const tickets = names.flatMap((name) =>
    fleet.store.tickets(name).map(({ ticketId, status, phaseHistory, claim }) => ({
      ticket: `${name},${ticketId}`,
      status: claim ? `${status} and claimed` : status,
      succeeded: phaseHistory.flatMap((attempt) =>
        attempt.status === 'success' ? [`${attempt.phase}.${attempt.visit}.${attempt.attempt}`] : [],
      ),
      commits: commitsOf(bare(name), `refs/signalbox/${name}/${ticketId}`),
    })),
  );
  const { absences } = machines;
  const verdict = judge({ runs, absences, tickets, phases: PHASES, limits: LIMITS, safeMs: LEASE_MS * 0.75 });
  const { repeatedWhileAway, ...faults } = verdict;
  const back = absences.filter(({ to, from }) => to !== null && to - from < LEASE_MS * 0.75).length;
  console.log(
    [
      `${tickets.length} tickets, ${runs.length} runs, ${kills} kills, ${absences.length} absences, ${back} of them shorter than the lease,`,
      `${runs.filter(({ endedAt }) => endedAt === undefined).length} runs ended from outside, ${repeatedWhileAway.length} phases repeated that had ended on a machine that was away,`,
      `troubles until ${(troubledMs / 1000).toFixed(0)} s, all in ${((Date.now() - began) / 1000).toFixed(0)} s`,
    ].join('\n'),
  );
  const state = () => `${done.join('\n')}\n${JSON.stringify(open().slice(0, 3), null, 1)}\n${machines.said}`;
  expect(tickets).toHaveLength(TICKETS);
  expect(kills).toBe(KILLS);
  expect(new Set(fleet.store.fleet.workers().map(({ version }) => version)).size).toBe(2);
  expect(faults, JSON.stringify(faults).length > 80 ? state() : '').toEqual({
    ...{ lost: [], together: [], overLimit: [], stuck: [], repeated: [], doubledCommits: [] },
  });
});
