import { describe, expect, it } from 'vitest';
import { needsOf, Placement, type Worker, whyNoWorker } from '../../src/model/place-tickets-on-workers.ts';
import { NOW, plan, ticket } from './build.ts';

const worker = (id: string, host: string): Worker => ({
  id,
  host,
  token: id,
  version: '1',
  slots: 1,
  labels: [],
  repos: ['acme/api'],
  draining: false,
  leaseLeft: 1000,
  pid: 1,
  isElsewhere: true,
  silentFor: 0,
});

describe('a ticket whose work could not be handed over', () => {
  const machine = { host: 'vm1', state: '/state' };
  const bound = ticket({
    machine,
    handOver: { commits: null, wip: null, onlyHere: 'its repository has no origin' },
  });
  const needs = needsOf(plan({ repo: 'acme/api', tickets: [] }), bound, { repositoryName: (name) => name });
  const place = (...workers: Worker[]) => new Placement(workers, new Map()).place(needs, true);

  it('is given to a worker of its own computer alone', () => {
    expect(place(worker('a', 'vm2'), worker('b', 'vm1'))).toBe('b');
    expect(place(worker('a', 'vm2'))).toBeUndefined();
  });

  it('is given to another worker of its computer only if both use the same clone', () => {
    const at = (repo: string) =>
      needsOf(
        plan({ repo, tickets: [] }),
        {
          ...bound,
          base: { ref: 'main', commit: 'c' },
          dispatch: { number: 1, at: null, to: 'gone', slot: true },
        },
        { repositoryName: (name) => name },
      );
    const sharing = { ...worker('b', 'vm1'), repos: ['acme/api', '/code/api'] };
    expect(whyNoWorker([sharing], at('/code/api'))).toBeUndefined();
    expect(whyNoWorker([{ ...sharing, host: 'vm2' }], at('/code/api'))).toContain('only a worker on vm1');
    expect(whyNoWorker([worker('b', 'vm1')], at('acme/api'))).toContain('(gone)');
    expect(whyNoWorker([worker('gone', 'vm1')], at('acme/api'))).toBeUndefined();
  });

  it('says why no worker can take it', () => {
    expect(whyNoWorker([worker('a', 'vm2')], needs)).toContain('only a worker on vm1 can continue it');
    expect(whyNoWorker([worker('b', 'vm1')], needs)).toBeUndefined();
  });

  it('goes to any worker once it is handed over', () => {
    const handed = { ...bound, handOver: { commits: 'c', wip: 'w' } };
    const free = needsOf(plan({ repo: 'acme/api', tickets: [] }), handed, { repositoryName: (name) => name });
    expect(whyNoWorker([worker('a', 'vm2')], free)).toBeUndefined();
  });
});

it('a ticket that a worker gave back before it began is offered to each of the others before it comes back', () => {
  const workers = ['a', 'b', 'c'].map((id) => ({ ...worker(id, 'vm'), slots: id === 'a' ? 9 : 1 }));
  const refusedBy = (to: string, at: string | null) =>
    needsOf(
      plan({ repo: 'acme/api', tickets: [] }),
      ticket({ status: 'ready', dispatch: { number: 1, at, to, slot: true } }),
      { repositoryName: (name) => name },
    );
  const next = (to: string, used = {}, at: string | null = null) =>
    new Placement(workers, new Map(Object.entries(used))).place(refusedBy(to, at), true);
  expect(['a', 'b', 'c'].map((to) => next(to))).toEqual(['b', 'c', 'a']);
  expect(next('a', { b: 1 })).toBe('c');
  expect(next('a', { b: 1, c: 1 })).toBe('a');
  // It has not answered yet.
  expect(next('a', {}, NOW)).toBe('a');
});
