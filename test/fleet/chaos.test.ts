import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FleetWorld } from '../support/fleet.ts';
import { ownServer } from '../support/postgres.ts';
import { randomFrom } from '../support/random.ts';
import { commitsOf, git } from '../support/repo.ts';
import { waitFor } from '../support/wait-for.ts';
import { within } from '../support/within.ts';
import { story } from '../support/world.ts';
import { writeAgent } from './chaos/agent.ts';
import { judge, readRuns, type TicketEnd } from './chaos/judge.ts';
import { Machines } from './chaos/machines.ts';
import { otherVersion } from './chaos/other-version.ts';
import { CAN_THROW, TroubleMaker, troublesBy } from './chaos/troubles.ts';

const LEASE_MS = 12_000;
/** A machine that is away for less has renewed its lease in time, as it does that four times in a lease. */
const SAFE_MS = LEASE_MS * 0.75;
const LIMITS = { all: 8, perRepository: 2 };
const PHASES = ['build', 'check', 'polish'];
const REPOSITORIES = ['r1', 'r2', 'r3', 'r4', 'r5'];
const TICKETS = 200;
const KILLS = 30;
/** The troubles are over when this part of the phases has run. */
const TROUBLED_PART = 0.85;

/** Plans in the store, each about a bare repository of its own, and settings that let every machine clone these. */
async function makePlans(fleet: FleetWorld, command: string): Promise<void> {
  const { world } = fleet;
  const url = (name: string) => `file://${bareOf(fleet, name)}`;
  for (const name of REPOSITORIES)
    git(world.dir, 'clone', '--quiet', '--bare', world.repo, bareOf(fleet, name));
  world.config({
    ...{ defaultAgent: 'chaos', agents: { chaos: { adapter: 'custom', command } } },
    repos: Object.fromEntries(REPOSITORIES.map((name) => [url(name), `~/clones/${name}`])),
    worktreeRoot: '~/trees',
    fleet: { leaseSeconds: LEASE_MS / 1000, maxConcurrency: LIMITS.all },
    maxPerRepository: LIMITS.perRepository,
  });
  world.rehearsal([
    ...[1, 2, 3, 4].map((attempt) => ({ when: { phase: 'build', attempt }, do: [{ limit: 2 }] })),
    { when: {}, do: [{ run: command }] },
  ]);
  world.workflow(
    'work',
    PHASES.map((id, index) => ({
      ...{ id, type: 'agent', prompt: `${id}.`, expect: { commits: true } },
      ...(PHASES[index + 1] ? { onSuccess: PHASES[index + 1] } : {}),
    })),
  );
  for (const name of REPOSITORIES) {
    // The agents of the long ones run for longer than the lease.
    const ids = Array.from({ length: TICKETS / REPOSITORIES.length }, (_, index) => {
      const isLong = index % 16 === 2;
      return `t-${String(index + 1).padStart(2, '0')}${isLong ? 'L' : ''}`;
    });
    // One ticket meets a usage limit in its first attempts, of which a trouble may cut one short.
    const tickets = ids.map((id) => [id, name === 'r1' && id === 't-05' ? { agent: 'rehearsal' } : {}]);
    world.plan(name, { repo: url(name), install: false, tickets: Object.fromEntries(tickets) });
  }
  await fleet.upload(...REPOSITORIES);
}

const bareOf = ({ world }: FleetWorld, name: string) => join(world.dir, `${name}.git`);

const ticketsIn = ({ store }: FleetWorld) => REPOSITORIES.flatMap((name) => store.tickets(name));

/** What is in the store and on origin. */
function endsOf(fleet: FleetWorld): TicketEnd[] {
  return ticketsIn(fleet).map(({ planId, ticketId, status, phaseHistory, claim }) => ({
    ticket: `${planId},${ticketId}`,
    status: claim ? `${status} and claimed` : status,
    succeeded: phaseHistory.flatMap(({ phase, visit, attempt, status: end }) =>
      end === 'success' ? [`${phase}.${visit}.${attempt}`] : [],
    ),
    commits: commitsOf(bareOf(fleet, planId), `refs/signalbox/${planId}/${ticketId}`),
  }));
}

it('a fleet loses, doubles and exceeds nothing through kills, stops, cuts and restarts of the database', {
  tags: 'full',
  // The others' limit of ten minutes is too near on a busy machine.
  timeout: 900_000,
}, async () => {
  const seed = Number(process.env.CHAOS_SEED) || (Date.now() % 1_000_000) + 1;
  console.log(`CHAOS_SEED=${seed}`);
  const random = randomFrom(seed);
  const began = Date.now();
  const fleet = await FleetWorld.open(await ownServer());
  const { log, command } = writeAgent(fleet.world.dir, seed);
  await makePlans(fleet, command);
  await fleet.database.query(CAN_THROW);
  const machines = new Machines({ fleet, slots: 3, otherVersion: otherVersion(fleet.world.dir, '99.0.0') });
  // The first scheduler; workers take over when it is killed.
  await machines.add('daemon');
  await Promise.all([1, 2, 3, 4].map(() => machines.add()));

  const maker = new TroubleMaker({ fleet, machines, random, leaseMs: LEASE_MS });
  let read = { bytes: 0, ended: 0 };
  const ended = () => {
    const bytes = statSync(log).size;
    if (bytes !== read.bytes) read = { bytes, ended: readFileSync(log, 'utf8').split('\nend\t').length - 1 };
    return read.ended;
  };
  const state = () => [...maker.done, `${ended()} phases have ended`, machines.said].join('\n');
  const troubles = troublesBy(random, KILLS);
  for (const [index, trouble] of troubles.entries()) {
    const part = ((index + random()) / troubles.length) * TROUBLED_PART;
    const isTime = () => ended() > part * TICKETS * PHASES.length && machines.present.length > 1;
    await waitFor(`the time to ${trouble}`, isTime, { timeoutMs: 60_000, state });
    await maker.make(trouble);
  }
  await machines.settled();
  const isDone = async () => {
    await fleet.store.refresh();
    return ticketsIn(fleet).every(({ status, claim }) => status === 'complete' && !claim);
  };
  // The tickets of the last repository run two at a time to the end. The verdict names those that are stuck.
  const isStuck = await waitFor('the end of all tickets', isDone, { timeoutMs: 240_000 }).then(
    () => false,
    () => true,
  );

  const runs = readRuns(readFileSync(log, 'utf8'));
  const tickets = endsOf(fleet);
  const { absences } = machines;
  const { repeatedWhileAway, ...faults } = judge({
    ...{ runs, absences, tickets, phases: PHASES, limits: LIMITS, safeMs: SAFE_MS },
  });
  const inTime = absences.filter(({ to, from }) => to !== null && to - from < SAFE_MS).length;
  const cutShort = runs.filter(({ endedAt }) => endedAt === undefined).length;
  const limited = fleet.store.ticket({ planId: 'r1', ticketId: 't-05' });
  const limits = story(limited).filter((line) => line === 'build limit').length;
  console.log(
    [
      `${tickets.length} tickets, ${runs.length} runs, ${cutShort} of them ended from outside, in ${((Date.now() - began) / 1000).toFixed(0)} s;`,
      `${maker.kills} kills, ${maker.killedDaemons} of them of a daemon that scheduled; ${maker.stoppedSchedulers} stops of the scheduler;`,
      `${maker.paused} tickets paused before their claim; ${maker.thrown} throws in what drives a ticket; ${limits} usage limits of one ticket;`,
      `${absences.length} absences, ${inTime} of them shorter than the lease;`,
      `${Object.entries(faults)
        .map(([fault, found]) => `${fault} ${found.length}`)
        .join(', ')};`,
      `${repeatedWhileAway.length} phases had ended on a machine that was away, and ran once more`,
    ].join('\n'),
  );
  const nothing = { lost: [], together: [], overLimit: [], stuck: [], repeated: [], doubledCommits: [] };
  expect(faults, isStuck || JSON.stringify(faults) !== JSON.stringify(nothing) ? state() : '').toEqual(
    nothing,
  );
  expect(tickets).toHaveLength(TICKETS);
  expect(maker.kills).toBe(KILLS);
  expect(maker.killedDaemons).toBeGreaterThan(0);
  expect(maker.stoppedSchedulers).toBeGreaterThan(0);
  expect(maker.paused).toBeGreaterThan(0);
  expect(maker.thrown).toBe(3);
  const versions = new Set(fleet.store.fleet.workers().map(({ version }) => version));
  expect(versions.size).toBe(2);
  expect(limits).toBeGreaterThanOrEqual(3);
  expect(Date.now() - began).toBeLessThan(within(480_000));
});
