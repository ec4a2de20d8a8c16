import { join } from 'node:path';
import { expect } from 'vitest';
import {
  keepForgeRecord,
  restoreForgeRecord,
} from '../../../src/engine/fleet/store-output-and-sessions-for-other-machines.ts';
import { forgeJournal } from '../../../src/features/pull-requests/ticket-on-github.ts';
import { machineIn } from '../../../src/machine/machine-files-and-locks.ts';
import type { KeptSession, SessionFiles } from '../../../src/store/store-interface.ts';
import { ticket } from '../../model/build.ts';
import { it } from '../../support/index.ts';
import { partsOf } from '../parts.ts';

it('another machine knows which feedback was answered, and what was pushed', async ({ world }) => {
  const here = await partsOf(world);
  let rows: KeptSession[] = [];
  const sessions: SessionFiles = {
    keep: async (_ref, _token, kept) => {
      rows = [kept];
      return true;
    },
    of: async () => rows,
  };
  Object.assign(here.store, { sessions });
  const there = { ...here, machine: machineIn(join(world.dir, 'elsewhere')) };
  const of = ticket({ planId: 'p', ticketId: 'a' });
  await keepForgeRecord(here, of);
  expect(rows).toEqual([]);
  forgeJournal(here, of).note('found', { commit: 'c0ffee' });
  forgeJournal(here, of).note('answered', { ids: ['comment:1'] });
  await keepForgeRecord(here, of);
  forgeJournal(there, of).note('answered', { ids: ['comment:0'] });
  await restoreForgeRecord(there, of);
  expect([...forgeJournal(there, of).answered()]).toEqual(['comment:1']);
  expect(
    forgeJournal(there, of)
      .heads()
      .map(({ commit }) => commit),
  ).toEqual(['c0ffee']);
});
