import { expect, it, vi } from 'vitest';
import type { EngineContext } from '../../../src/engine/context.ts';
import { EarlierIssues } from '../../../src/features/issue-runs/earlier-work-on-issues.ts';
import { refKey } from '../../../src/model/ids-and-branch-names.ts';
import { openStore } from '../../../src/store/open-file-store-with-schemas.ts';
import { StateReader } from '../../../src/store/parse-and-cache-state-files.ts';
import { State } from '../../store/scratch.ts';

const REPO = '/work/shop';

/** The earlier work that a new process finds, among finished plans. */
function earlierIn(state: State): EarlierIssues {
  const checkRepo = async (path: string) => ({ commonDir: path, root: path });
  const engine = { store: openStore(state.dir), workspaces: { checkRepo } };
  return new EarlierIssues(engine as unknown as EngineContext, 'all');
}

function withIssue(state: State, planId: string, ticketId: string, key: string, more: object = {}): void {
  state.plan(planId, [ticketId], { status: 'complete', repo: REPO, ...more });
  state.ticket(planId, ticketId, { status: 'complete', source: { key } });
}

it.each([
  ['github:o/shop#7', '7'],
  ['github:o/shop#7', 'shop-7'],
  ['github:o/shop#7', 'o-shop-7'],
  ['github:git.example.com/o/shop#7', 'repository-7'],
  ['number:7', '7'],
  ['linear:ENG-7', 'ENG-7'],
  ['markdown:cache', 'cache'],
  [`markdown:${REPO}/issues/Faster Cache.md`, 'faster-cache'],
  ['task:fix-the-typo', 'fix-the-typo'],
])('work on %s is found in a finished plan by the id %s', async (key, ticketId) => {
  const state = new State();
  withIssue(state, 'old', ticketId, key);
  withIssue(state, 'other', ticketId, `${key}1`);
  withIssue(state, 'elsewhere', ticketId, key, { repo: '/work/else' });
  const earlier = earlierIn(state);
  expect((await earlier.of(key, REPO)).map(refKey)).toEqual([`old/${ticketId}`]);
  expect(earlier.hasTicket(ticketId)).toBe(true);
  expect(earlier.hasTicket('none')).toBe(false);
});

it('only tickets that may be of the issue are read, however many plans are finished', async () => {
  const state = new State();
  for (let number = 0; number < 60; number += 1)
    withIssue(state, `old-${number}`, String(100 + number), `github:o/shop#${100 + number}`);
  const read = vi.spyOn(StateReader.prototype, 'ticket');
  const earlier = earlierIn(state);
  const found = await earlier.of('github:o/shop#107', REPO);
  expect(found.map((ticket) => earlier.planOf(ticket)?.id)).toEqual(['old-7']);
  expect(await earlier.mentioned('github:o/shop#108', REPO)).toHaveLength(1);
  expect(read.mock.calls.map(([, , ticketId]) => ticketId)).toEqual(['107', '108']);
});
