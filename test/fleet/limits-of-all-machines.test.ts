import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FleetWorld } from '../support/fleet.ts';

/** A machine with an agent that others do not have, and a worker on it that has the agent's name as its label. */
async function workerWith(fleet: FleetWorld, agent: string, steps: unknown[]): Promise<void> {
  const home = fleet.machine();
  const file = join(home, 'config.yaml');
  const scenario = join(home, 'scenario.yaml');
  writeFileSync(scenario, JSON.stringify(steps.length > 0 ? [{ do: steps }] : []));
  const config = JSON.parse(readFileSync(file, 'utf8')) as object;
  const own = {
    adapter: 'rehearsal',
    command: 'rehearsal',
    account: 'team',
    defaultArgs: ['--scenario', scenario],
  };
  writeFileSync(file, JSON.stringify({ ...config, agents: { [agent]: own } }));
  await fleet.worker(home, ['--labels', agent]);
}

async function twoMachines(steps: unknown[], settings: Record<string, unknown> = {}): Promise<FleetWorld> {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  world.config(settings);
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
  const on = (agent: string) => ({ agent, workerLabels: [agent] });
  world.plan('p', { tickets: { a: on('first'), b: { ...on('second'), blockedBy: [] } } });
  await fleet.upload('p');
  await workerWith(fleet, 'first', steps);
  return fleet;
}

it('a usage limit that an agent met on one machine holds agents of the same account on another', async () => {
  const fleet = await twoMachines([{ limit: 600 }]);
  await fleet.until(
    'the limit',
    (store) => store.ticket({ planId: 'p', ticketId: 'a' }).hold?.kind === 'limit',
  );
  await workerWith(fleet, 'second', []);
  await fleet.until(
    'the other to wait',
    (store) => store.ticket({ planId: 'p', ticketId: 'b' }).hold?.kind === 'limit',
  );
  expect(fleet.store.ticket({ planId: 'p', ticketId: 'b' }).phaseHistory).toEqual([]);
});

it('a budget of the day counts what all machines have used', { tags: 'full' }, async () => {
  const fleet = await twoMachines([], { budgets: { day: { launches: 1 } } });
  await fleet.reaches('p', 'a', 'complete');
  await workerWith(fleet, 'second', []);
  await fleet.until(
    'the other to wait',
    (store) => store.ticket({ planId: 'p', ticketId: 'b' }).hold?.kind === 'budget',
  );
  expect(fleet.store.ticket({ planId: 'p', ticketId: 'b' }).phaseHistory).toEqual([]);
});
