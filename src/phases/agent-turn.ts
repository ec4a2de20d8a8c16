import { randomUUID } from 'node:crypto';
import { isAbsolute, join } from 'node:path';
import { findExecutable } from '../machine/find-and-probe-program.ts';
import type { AgentError, AgentRequest, AgentResult } from '../model/agent-and-adapter-types.ts';
import { explained, orError, shortageIn, shortageOf, WorkspaceError } from '../model/errors.ts';
import { noUsage } from '../model/limits/usage-cost-and-estimate.ts';
import type { AttemptEnd } from '../model/state/attempt-end-types-and-waits.ts';
import type { Hold, Usage } from '../model/ticket.ts';
import type { PhaseOf } from '../model/workflow.ts';
import { agentEnvironment } from './attempt-variables-and-environment.ts';
import { enterSandbox, leaveSandbox, sandboxesOthers, sandboxProblem } from './enter-sandbox.ts';
import { AgentStream, type StreamOptions } from './follow-and-stop-agent.ts';
import { failureBy } from './judge-agent-attempt.ts';
import type { PhaseContext } from './phase-context.ts';
import { endOfJob, type JobRun, runJob } from './run-job.ts';

/** What a turn asks of an agent; the rest is known when its process is started. */
type TurnRequest = Omit<AgentRequest, 'promptFile' | 'newSessionId' | 'root'>;
export type Ask = (prompt: string, resume: string | null) => TurnRequest;

export interface Turn extends Pick<StreamOptions, 'adapter' | 'usageBefore' | 'wantsData'> {
  dir: string;
  /** Called only when a process has to be started: prompt and session are decided then. */
  request: () => Promise<TurnRequest>;
  /** What earlier turns of the same attempt have used. */
  spent?: Usage | null;
  /** A closing turn: budgets do not apply, only this many seconds. */
  closingSeconds?: number;
  /** Kept beside the job, for an engine that adopts it. */
  files: Record<string, string>;
}

export type TurnEnd =
  | { result: AgentResult }
  /** `limit`: it was silent while it waited for the end of a usage limit; `broke`: a budget is used up. */
  | { end: AttemptEnd; limit?: AgentError; broke?: Hold };

type Context = PhaseContext<PhaseOf<'agent'>>;

/** Calls an agent's CLI once, from command line to result. */
export async function takeTurn(context: Context, turn: Turn): Promise<TurnEnd> {
  const { phase, settings } = context;
  const { adapter, usageBefore, wantsData, spent = null } = turn;
  const longest = phase.timeoutSeconds ?? settings.timeouts.agentSeconds;
  const wallSeconds = Math.min(longest, turn.closingSeconds ?? longest);
  const idleSeconds = phase.idleSeconds ?? settings.timeouts.agentIdleSeconds;
  const overBudget = (usage: Usage | null) =>
    (turn.closingSeconds === undefined ? context.allowance?.over(usage) : null) ?? null;
  const stream = new AgentStream(context, {
    adapter,
    file: join(turn.dir, 'stdout'),
    usageBefore,
    wantsData,
    spent,
    overBudget,
  });
  const { flush, ...following } = stream.follow();
  const job = () => jobOf(context, turn);
  const result = await runJob(context, { dir: turn.dir, wallSeconds, idleSeconds, job, ...following });
  // What is only noticed now did not stop it.
  const { loop } = stream;
  flush();
  await stream.settled();
  const stderrTail = result?.stderrTail ?? '';
  const lost = await fetchCommitsBack(context);
  if (lost) {
    const seen = stream.end({ ...(result?.exit ?? NO_EXIT), stderrTail });
    // It has worked, whatever it reports: without usage, budgets would treat it as never started.
    const { sessionId, usage } = stream.factsOf(seen);
    return { end: { ...lost, sessionId, usage: usage ?? noUsage() } };
  }
  if (stream.refused && result?.reason === 'budget') {
    const seen = stream.end({ ...result.exit, stderrTail });
    return { result: { ...seen, sessionId: stream.factsOf(seen).sessionId } };
  }
  if (loop && result?.reason === 'budget') {
    const seen = stream.end({ ...NO_EXIT, stderrTail });
    const error = { class: 'loop', message: loop } as const;
    return { end: { type: 'failed', error, ...stream.factsOf(seen) } };
  }
  const early = endOfJob(result, { wallSeconds, idleSeconds });
  if (early) {
    const isOver = result?.reason === 'budget';
    const mayBeDone = (isOver || ENDED_BY_OTHERS.has(result?.reason)) && adapter.program !== null;
    return cutShort(stream, early, { stderrTail, isOver, mayBeDone });
  }
  const seen = stream.end({ ...(result?.exit ?? NO_EXIT), stderrTail });
  const facts = stream.factsOf(seen);
  // Nothing was paid for, so it may begin as often as it takes. What a custom agent prints says nothing about that.
  const hasBegun = stream.hasAnswered || adapter.program === null;
  const isUnpaid = !hasBegun && ENDS_OF_PROCESS.has(seen.error?.class ?? '');
  const short = isUnpaid ? shortageIn(stderrTail) : undefined;
  const error = short === undefined ? undefined : new Error(`${context.agentName}: ${short}`);
  if (error) return { end: { ...failureBy('crash', error), ...facts } };
  return { result: { ...seen, usage: facts.usage } };
}

/** Errors that only say how the process ended. */
const ENDS_OF_PROCESS: ReadonlySet<string> = new Set(['crash', 'exit', 'protocol', 'interrupted']);

/** Reasons for which an agent may have been ended after it had reported its result. */
const ENDED_BY_OTHERS: ReadonlySet<string | undefined> = new Set(['lost', 'lease']);

const NO_EXIT = { code: null, signal: null };

/**
 * The end of a turn that did not end by itself. `isOver`: it was stopped because its budget is used up. `mayBeDone`: its output may have
 * its end event although its exit is unknown.
 */
function cutShort(
  stream: AgentStream,
  early: AttemptEnd,
  { stderrTail, isOver, mayBeDone }: { stderrTail: string; isOver: boolean; mayBeDone: boolean },
): TurnEnd {
  // After its end event the work is done, although the process had not ended. CLIs without that event end by their exit.
  const finished = mayBeDone ? stream.end({ code: 0, signal: null, stderrTail }) : null;
  if (finished?.ok) return { result: finished };
  const soFar = stream.end({ ...NO_EXIT, stderrTail });
  const end = { ...early, ...stream.factsOf(soFar) };
  const hold = isOver ? stream.holdFor(soFar) : null;
  if (hold) return { end, broke: hold };
  const waited = end.type === 'failed' && soFar.error?.class === 'limit';
  return waited && soFar.error ? { end, limit: soFar.error } : { end };
}

/** The process of a turn: command line, environment, files beside it. */
async function jobOf(context: Context, turn: Turn): Promise<Awaited<ReturnType<JobRun['job']>>> {
  const promptFile = join(turn.dir, 'prompt.md');
  const asked = await turn.request();
  const { agent } = asked;
  const given = agentEnvironment(context, agent, promptFile);
  const problem = sandboxProblem(context, agent, given.PATH ?? '');
  if (problem) throw new AttemptConfigError(`agent "${agent.name}": ${problem}`);
  const sandbox =
    agent.sandbox === 'bwrap' ? await enterSandbox(context, agent, turn.dir, given).catch(refuse) : null;
  // Settings of the repository could start programs outside the sandbox, and allow what `read` refuses.
  const distrusts = asked.access === 'read' || (!sandbox && sandboxesOthers(context));
  const call = turn.adapter.invocation({
    ...asked,
    ...(sandbox ? { gitDirs: () => [sandbox.gitDir] } : {}),
    distrusted: distrusts ? context.place.worktree : null,
    promptFile,
    newSessionId: randomUUID(),
    root: process.getuid?.() === 0,
  });
  const own = new Set(Object.keys(call.files).map((name) => `{job}/${name}`));
  const command = call.argv.map((arg) => (own.has(arg) ? arg.replace('{job}', turn.dir) : arg));
  const env = { ...given, ...call.env, ...sandbox?.env };
  requireExecutable(command[0] ?? '', env.PATH ?? '', agent.name);
  return {
    argv: sandbox ? await sandbox.wrap(command) : command,
    cwd: context.place.worktree,
    env,
    stdin: call.stdin,
    files: { ...turn.files, ...call.files, 'prompt.md': asked.prompt },
    agent: { name: agent.name, adapter: turn.adapter.name },
    stopSignal: call.stopSignal ?? 'SIGTERM',
  };
}

/** A workspace that cannot be sandboxed is a configuration error. */
function refuse(error: unknown): never {
  const isConfig = error instanceof WorkspaceError && shortageOf(error) === undefined;
  throw isConfig ? new AttemptConfigError(explained(error)) : error;
}

/** Fetches a sandboxed agent's commits to the ticket's branch, however its run ended. */
async function fetchCommitsBack(context: PhaseContext<PhaseOf<'agent'>>): Promise<AttemptEnd | undefined> {
  const agent = context.settings.agents[context.agentName];
  const trouble = agent && (await orError(WorkspaceError, () => leaveSandbox(context, agent)));
  // After a stop git is not waited for; what was committed is fetched when the ticket continues.
  return trouble && !context.signal.aborted ? failureBy('workspace', trouble) : undefined;
}

/** Checks before the start that a command exists: the shell's own message does not name the agent. */
function requireExecutable(command: string, path: string, agent: string): void {
  const found = findExecutable(command, { PATH: path });
  if (found && isAbsolute(found)) return;
  const why = found ? 'is a relative path' : 'is not installed or not executable; see: signalbox doctor';
  throw new AttemptConfigError(`agent "${agent}": ${command} ${why}`);
}

export class AttemptConfigError extends Error {}
