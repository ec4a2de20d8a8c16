/** One run of an agent, as the agent itself wrote it down. */
export interface Run {
  /** `plan,ticket,phase.visit.attempt,pid`: also the subject of its commit. */
  id: string;
  machine: string;
  repo: string;
  worktree: string;
  branch: string;
  startedAt: number;
  /** Undefined: it was ended from outside. */
  endedAt: number | undefined;
  /** The other agents that it saw alive when it started. */
  living: readonly string[];
}

/** A time in which a machine did not reach the store: killed, stopped, or cut off. */
export interface Absence {
  machine: string;
  from: number;
  /** Null: it never came back. */
  to: number | null;
}

/** A ticket as it is in the store and on origin at the end. */
export interface TicketEnd {
  /** `plan,ticket`. */
  ticket: string;
  status: string;
  /** `phase.visit.attempt` of each attempt that the store has as successful. */
  succeeded: readonly string[];
  /** Subjects of the commits on origin. */
  commits: readonly string[];
}

interface Facts {
  runs: readonly Run[];
  absences: readonly Absence[];
  tickets: readonly TicketEnd[];
  phases: readonly string[];
  limits: { all: number; perRepository: number };
  /** A machine that is away for less than this has kept its lease. */
  safeMs: number;
}

/** Everything but `repeatedWhileAway` has to be empty. */
export interface Verdict {
  lost: string[];
  together: string[];
  overLimit: string[];
  stuck: string[];
  repeated: string[];
  doubledCommits: string[];
  /** Phases that ended on a machine that was away for longer than its lease, and ran once more. */
  repeatedWhileAway: string[];
}

/** Reads the log that the agents append to. */
export function readRuns(log: string): Run[] {
  const runs = new Map<string, Run>();
  for (const line of log.split('\n')) {
    const [what, id = '', at, machine = '', repo = '', worktree = '', branch = '', living = ''] =
      line.split('\t');
    const time = Number(at);
    const run = runs.get(id);
    if (what === 'start')
      runs.set(id, {
        ...{ id, machine, repo, worktree, branch, startedAt: time, endedAt: undefined },
        living: living.split(' ').filter(Boolean),
      });
    else if (what === 'end' && run) run.endedAt = time;
  }
  return [...runs.values()];
}

const ticketOf = ({ id }: Pick<Run, 'id'>) => id.split(',').slice(0, 2).join(',');
const attemptOf = ({ id }: Pick<Run, 'id'>) => id.split(',')[2] ?? '';
const phaseOf = (attempt: string) => attempt.split('.')[0] ?? '';

/** What went wrong in a run of a fleet, from what its agents wrote and what is left of it. */
export function judge(facts: Facts): Verdict {
  const { runs, tickets } = facts;
  const byId = new Map(runs.map((run) => [run.id, run]));
  const verdict: Verdict = {
    ...{ lost: [], together: [], overLimit: [], stuck: [], repeated: [] },
    ...{ doubledCommits: [], repeatedWhileAway: [] },
  };
  for (const run of runs) {
    const others = run.living.flatMap((id) => byId.get(id) ?? []);
    judgeStart(facts, run, others, verdict);
  }
  for (const ticket of tickets) {
    const own = runs.filter((run) => ticketOf(run) === ticket.ticket);
    judgeTicket(facts, ticket, own, verdict);
  }
  return verdict;
}

function judgeStart({ limits }: Facts, run: Run, others: readonly Run[], verdict: Verdict): void {
  const isSame = (other: Run) =>
    other.worktree === run.worktree || (other.repo === run.repo && other.branch === run.branch);
  for (const other of others) if (isSame(other)) verdict.together.push(`${run.id} and ${other.id}`);
  const inRepository = others.filter(({ repo }) => repo === run.repo).length + 1;
  if (inRepository > limits.perRepository)
    verdict.overLimit.push(`${inRepository} in ${run.repo}: ${run.id}`);
  if (others.length + 1 > limits.all) verdict.overLimit.push(`${others.length + 1} in all: ${run.id}`);
}

function judgeTicket(facts: Facts, end: TicketEnd, runs: readonly Run[], verdict: Verdict): void {
  const { ticket, status, succeeded, commits } = end;
  if (status !== 'complete') verdict.stuck.push(`${ticket} is ${status}`);
  for (const [index, subject] of commits.entries())
    if (commits.indexOf(subject) !== index) verdict.doubledCommits.push(subject);
  for (const phase of facts.phases) {
    const stored = succeeded.filter((attempt) => phaseOf(attempt) === phase);
    const ofPhase = runs.filter((run) => phaseOf(attemptOf(run)) === phase);
    const ended = ofPhase.filter(({ endedAt }) => endedAt !== undefined);
    const kept = ended.find((run) => stored.includes(attemptOf(run)) && commits.includes(run.id));
    if (status === 'complete' && (stored.length !== 1 || !kept))
      verdict.lost.push(`${phase} of ${ticket}: stored ${stored.length}, ended ${ended.length}`);
    for (const run of ended) {
      const next = ofPhase.find(({ startedAt, id }) => id !== run.id && startedAt >= (run.endedAt ?? 0));
      if (!next) continue;
      const wasStored = stored.includes(attemptOf(run));
      const list = !wasStored && wasAway(facts, run, next) ? verdict.repeatedWhileAway : verdict.repeated;
      list.push(`${run.id} on ${run.machine}, then ${next.id} on ${next.machine}`);
    }
  }
}

/** Whether the machine of a run was away when its end was to be stored, and stayed away until another one continued. */
function wasAway({ absences, safeMs }: Facts, run: Run, next: Run): boolean {
  return absences.some(
    ({ machine, from, to }) =>
      machine === run.machine &&
      from <= next.startedAt &&
      (to === null || (to >= (run.endedAt ?? 0) && to - from >= safeMs)),
  );
}
