import { describe, expect, it } from 'vitest';
import { judge, type Run, readRuns, type TicketEnd, type Verdict } from './chaos/judge.ts';

const NOTHING: Verdict = {
  ...{ lost: [], together: [], overLimit: [], stuck: [], repeated: [] },
  ...{ doubledCommits: [], repeatedWhileAway: [] },
};

/** A run of the phase `build` of a ticket, from 0 to 10. */
function run(ticket: string, more: Partial<Run> = {}): Run {
  const id = more.id ?? `p,${ticket},build.1.1,1`;
  const place = { machine: 'one', repo: 'r', worktree: `/one/${ticket}`, branch: `ticket/p/${ticket}` };
  return { id, ...place, startedAt: 0, endedAt: 10, living: [], ...more };
}

function end(ticket: string, more: Partial<TicketEnd> = {}): TicketEnd {
  const commits = [`p,${ticket},build.1.1,1`];
  return { ticket: `p,${ticket}`, status: 'complete', succeeded: ['build.1.1'], commits, ...more };
}

const again = { id: 'p,a,build.1.2,2', machine: 'two', worktree: '/two/a', startedAt: 30, endedAt: 40 };
const byOther = end('a', { succeeded: ['build.1.2'], commits: [again.id] });

function judged(given: Partial<Parameters<typeof judge>[0]>): Partial<Verdict> {
  const limits = { all: 3, perRepository: 2 };
  const all = judge({ runs: [], absences: [], tickets: [], phases: ['build'], limits, safeMs: 9, ...given });
  return Object.fromEntries(Object.entries(all).filter(([, list]) => list.length > 0));
}

describe('the judge of a fleet', () => {
  it('finds nothing where every phase ran once and was kept', () => {
    expect(judged({ runs: [run('a'), run('b')], tickets: [end('a'), end('b')] })).toEqual({});
    expect(
      judge({
        ...{ runs: [], absences: [], tickets: [], phases: [], safeMs: 9 },
        limits: { all: 1, perRepository: 1 },
      }),
    ).toEqual(NOTHING);
  });

  it('reads what agents append', () => {
    const log = [
      'start\tp,a,build.1.1,7\t5\tone\tr\t/one/a\tticket/p/a\tp,b,build.1.1,3 p,c,build.1.1,4',
      'end\tp,a,build.1.1,7\t9',
      'start\tp,b,build.1.1,8\t6\ttwo\tr\t/two/b\tticket/p/b\t',
    ];
    const [a, b] = readRuns(log.join('\n'));
    expect(a).toMatchObject({ startedAt: 5, endedAt: 9, living: ['p,b,build.1.1,3', 'p,c,build.1.1,4'] });
    expect(b).toMatchObject({ machine: 'two', endedAt: undefined, living: [] });
  });

  it('finds two agents on one branch, also on two machines, and two in one worktree', () => {
    const { id } = run('a');
    const onBranch = run('a', { ...again, living: [id] });
    expect(judged({ runs: [run('a'), onBranch] })).toEqual({ together: [`${again.id} and ${id}`] });
    const inTree = run('b', { worktree: '/one/a', living: [id] });
    expect(judged({ runs: [run('a'), inTree] }).together).toHaveLength(1);
  });

  it('finds a passed limit, of all and of a repository', () => {
    const names = ['a', 'b', 'c', 'd'];
    const inRepo = (repo: (index: number) => string) =>
      names.map((name, index) => {
        const living = names.slice(0, index).map((other) => run(other).id);
        return run(name, { repo: repo(index), living });
      });
    expect(judged({ runs: inRepo(String) })).toEqual({ overLimit: ['4 in all: p,d,build.1.1,1'] });
    expect(judged({ runs: inRepo(() => 'r').slice(0, 3) })).toEqual({
      overLimit: ['3 in r: p,c,build.1.1,1'],
    });
  });

  it('finds a ticket that is stuck, and work that is missing in the store or on origin', () => {
    expect(judged({ tickets: [end('a', { status: 'running' })] })).toEqual({ stuck: ['p,a is running'] });
    for (const wrong of [{ succeeded: [] }, { commits: [] }])
      expect(judged({ runs: [run('a')], tickets: [end('a', wrong)] }).lost).toHaveLength(1);
    expect(judged({ runs: [run('a', { endedAt: undefined })], tickets: [end('a')] }).lost).toHaveLength(1);
  });

  it('finds a commit that is doubled', () => {
    const { id } = run('a');
    const twice = end('a', { commits: [id, id] });
    expect(judged({ runs: [run('a')], tickets: [twice] })).toEqual({ doubledCommits: [id] });
  });

  it('finds a phase that ran again although its machine was there, or came back in time', () => {
    const runs = [run('a'), run('a', again)];
    const repeated = [`${run('a').id} on one, then ${again.id} on two`];
    expect(judged({ runs, tickets: [byOther] })).toEqual({ repeated });
    const others = [
      { machine: 'one', from: 5, to: 12 },
      { machine: 'one', from: -20, to: 5 },
      { machine: 'one', from: 31, to: null },
      { machine: 'two', from: 5, to: null },
    ];
    for (const absence of others)
      expect(judged({ runs, tickets: [byOther], absences: [absence] })).toEqual({ repeated });
  });

  it('finds a phase that ran again although its end was stored', () => {
    const absences = [{ machine: 'one', from: 5, to: null }];
    const runs = [run('a'), run('a', again)];
    expect(judged({ runs, tickets: [end('a')], absences }).repeated).toHaveLength(1);
  });

  it('counts a phase that ran again because its machine was away for too long', () => {
    const runs = [run('a'), run('a', again)];
    for (const to of [null, 25]) {
      const { repeatedWhileAway, ...rest } = judged({
        ...{ runs, tickets: [byOther], absences: [{ machine: 'one', from: 5, to }] },
      });
      expect(rest).toEqual({});
      expect(repeatedWhileAway).toHaveLength(1);
    }
  });

  it('lets a phase run again whose agent was ended before its end', () => {
    const runs = [run('a', { endedAt: undefined }), run('a', again)];
    expect(judged({ runs, tickets: [byOther] })).toEqual({});
  });
});
