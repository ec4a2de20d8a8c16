import { expect, it } from 'vitest';
import type { Plan } from '../../../src/model/plan.ts';
import {
  countHidden,
  finishedInstead,
  latestPlan,
} from '../../../src/model/plans/latest-plans-and-unknown-name-errors.ts';
import { at, plan } from '../build.ts';

const made = (id: string, seconds: number, fields: Partial<Plan> = {}) =>
  plan({ id, createdAt: at(seconds), repo: '/here', ...fields });
const there = { repo: '/there' };
const open = [made('first', 1), made('second', 2), made('elsewhere', 9, there)];
const done = [made('old', 0, { status: 'complete' }), made('away', 3, { status: 'archived', ...there })];
const isHere = ({ repo }: Plan) => repo === '/here';
const view = (plans: Plan[]) => ({
  plans,
  tickets: new Map(),
  finished: {
    ids: () => done.map(({ id }) => id),
    since: () => done.map(({ id }) => id),
    plan: (id: string) => done.find((each) => each.id === id),
    ticket: () => undefined,
    named: () => [],
  },
});

it('takes the plan of this repository that was made last, of all if there is none to look for', () => {
  expect(latestPlan(view(open), isHere).latest?.id).toBe('second');
  expect(latestPlan(view([]), isHere).latest?.id).toBe('old');
  expect(latestPlan(view(open)).latest?.id).toBe('elsewhere');
  expect(latestPlan(view(open), () => false)).toMatchObject({
    latest: undefined,
    all: [{ id: 'elsewhere' }, {}, {}, {}, {}],
  });
});

it('shows the plan that finished last only where no plan is open', () => {
  expect(finishedInstead(view(open), isHere)).toBeUndefined();
  expect(finishedInstead(view(open.slice(2)), isHere)?.id).toBe('old');
});

it('counts what is not shown', () => {
  expect(countHidden(view(open), open.slice(0, 2))).toEqual({ open: 1, finished: 2 });
  expect(countHidden(view([]), done.slice(0, 1))).toEqual({ open: 0, finished: 1 });
});
