import { randomUUID } from 'node:crypto';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { lineSplitter } from '../agents/index.ts';
import type { AgentAdapter, AgentError, AgentEvent, AgentRequest, AgentResult } from '../model/agent.ts';
import { explained, WorkspaceError } from '../model/errors.ts';
import { noUsage, totalUsage } from '../model/limits/usage.ts';
import type { AttemptEnd } from '../model/state/outcome.ts';
import type { Hold, Usage } from '../model/ticket.ts';
import type { PhaseOf } from '../model/workflow.ts';
import type { PhaseContext } from './context.ts';
import { agentEnvironment } from './environment.ts';
import { endOfJob, runJob } from './run-job.ts';
import { enterSandbox, leaveSandbox, sandboxesOthers, sandboxProblem } from './sandbox.ts';

export interface Turn {
  dir: string;
  adapter: AgentAdapter;
  /** Made only when a process has to be started: prompt and session are decided then. */
  request: () => Promise<Omit<AgentRequest, 'promptFile' | 'newSessionId' | 'root'>>;
  usageBefore: Usage | null;
  wantsData: boolean;
  /** What earlier turns of the same attempt have used. */
  spent?: Usage | null;
  /** Not held to the budgets, but to this many seconds: it only winds up. */
  windsUp?: number;
  /** Kept beside the job, for whoever takes it over. */
  files: Record<string, string>;
}

const LAST_WORDS_MS = 250;

export type TurnEnd =
  | { result: AgentResult }
  /** `limit`: it was silent because it waited out a usage limit; `broke`: a budget was used up. */
  | { end: AttemptEnd; limit?: AgentError; broke?: Hold };

/** One call of an agent's CLI, from command line to result. */
export async function takeTurn(context: PhaseContext<PhaseOf<'agent'>>, turn: Turn): Promise<TurnEnd> {
  const { phase, settings } = context;
  const allowance = turn.windsUp === undefined ? (context.allowance ?? null) : null;
  const longest = phase.timeoutSeconds ?? settings.timeouts.agentSeconds;
  const wall = Math.min(longest, turn.windsUp ?? longest);
  const idle = phase.idleSeconds ?? settings.timeouts.agentIdleSeconds;
  const reader = turn.adapter.reader({
    // Read when it is needed: "in an hour" counts from the moment it was said.
    get now() {
      return context.now();
    },
    usageBefore: turn.usageBefore,
    wantsData: turn.wantsData,
  });
  let session: string | null = null;
  let toolsOpen = 0;
  let limited = false;
  let answered = false;
  let refused = false;
  let broke: Hold | null = null;
  let spent = turn.spent ?? null;
  let brokeAt = Number.POSITIVE_INFINITY;
  // Time passes without a word, so this is asked all the time, not only with every report. One that has used up the last
  // of it may be at its end: it gets the moment to say so, unless it is seen to go on.
  const isBroke = () => {
    if (broke === null) {
      broke = allowance?.over(spent) ?? null;
      if (broke) brokeAt = toolsOpen > 0 ? Number.NEGATIVE_INFINITY : performance.now();
    }
    return performance.now() - brokeAt > LAST_WORDS_MS;
  };
  const spend = (usage: Usage) => {
    const soFar = totalUsage([turn.spent ?? null, usage]) ?? usage;
    spent = soFar;
    context.onUsage(soFar);
    isBroke();
  };
  const show = (event: AgentEvent) => {
    // Whatever else it tells, it is at work again.
    limited = event.type === 'limit' || (limited && event.type === 'warning');
    refused = event.type === 'refused';
    answered ||= event.type === 'text' || event.type === 'tool';
    switch (event.type) {
      case 'session':
        session = event.id;
        return context.onSession(event.id);
      case 'usage':
        return spend(event.usage);
      case 'text':
        return context.onText(event.text);
      case 'tool':
        toolsOpen = Math.max(0, toolsOpen + (event.done ? -1 : 1));
        if (broke) brokeAt = Number.NEGATIVE_INFINITY;
        return context.onTool(event.name, event.summary, event.done);
      default:
        return undefined;
    }
  };
  const lines = lineSplitter((line) => reader.line(line).forEach(show));
  const errors = lineSplitter((line) => reader.errorLine?.(line).forEach(show));
  const result = await runJob(context, {
    dir: turn.dir,
    wallSeconds: wall,
    idleSeconds: idle,
    onOutput: (chunk) => lines.push(chunk),
    ...(reader.errorLine ? { onErrors: (chunk) => errors.push(chunk) } : {}),
    isBusy: () => toolsOpen > 0,
    isWaiting: () => limited,
    isOver: () => refused || isBroke(),
    spec: async () => {
      const promptFile = join(turn.dir, 'prompt.md');
      const asked = await turn.request();
      const given = agentEnvironment(context, asked.agent, promptFile);
      const problem = sandboxProblem(context, asked.agent, given.PATH ?? '');
      if (problem) throw new AttemptConfigError(`agent "${asked.agent.name}": ${problem}`);
      const walls =
        asked.agent.sandbox === 'bwrap'
          ? await enterSandbox(context, asked.agent, turn.dir, given).catch(refuse)
          : null;
      // Settings of the repository could run programs outside of the walls, and lift what `read` refuses.
      const distrusts = asked.access === 'read' || (!walls && sandboxesOthers(context));
      const request = {
        ...asked,
        ...(walls ? { gitDirs: () => [walls.gitDir] } : {}),
        distrusted: distrusts ? context.place.worktree : null,
      };
      const root = process.getuid?.() === 0;
      const call = turn.adapter.invocation({ ...request, promptFile, newSessionId: randomUUID(), root });
      const own = new Set(Object.keys(call.files).map((name) => `{job}/${name}`));
      const command = call.argv.map((arg) => (own.has(arg) ? arg.replace('{job}', turn.dir) : arg));
      const env = { ...given, ...call.env, ...walls?.env };
      requireExecutable(command[0] ?? '', env.PATH ?? '', request.agent.name);
      const argv = walls ? await walls.wrap(command) : command;
      const files = {
        ...turn.files,
        ...call.files,
        'prompt.md': request.prompt,
      };
      return {
        argv,
        cwd: context.place.worktree,
        env,
        stdin: call.stdin,
        files,
        agent: { name: request.agent.name, adapter: turn.adapter.name },
        stopSignal: call.stopSignal,
      };
    },
  });
  lines.flush();
  const home = await broughtHome(context);
  if (home) {
    const exit = result?.exit ?? { code: null, signal: null };
    const seen = reader.end({ ...exit, stderrTail: result?.stderrTail ?? '' });
    // It has worked, whatever it tells of that: budgets must not take it for one that never began.
    const usage = usageSeen(seen, answered) ?? noUsage();
    return { end: { ...home, sessionId: session ?? seen.sessionId, usage } };
  }
  if (refused && result?.reason === 'budget') {
    const seen = reader.end({ ...result.exit, stderrTail: result.stderrTail });
    return { result: { ...seen, sessionId: session ?? seen.sessionId } };
  }
  const early = endOfJob(result, wall, idle);
  if (early || !result) {
    const stderrTail = result?.stderrTail ?? '';
    // Its end event has come: it had done its work and would only have ended. Those without one end by their exit alone.
    const told = result?.reason === 'budget' && turn.adapter.program !== null;
    const finished = told ? reader.end({ code: 0, signal: null, stderrTail }) : null;
    if (finished?.ok) return { result: finished };
    const soFar = reader.end({ code: null, signal: null, stderrTail });
    const usage = usageSeen(soFar, answered);
    const end = { ...(early as AttemptEnd), sessionId: session ?? soFar.sessionId, usage };
    const hold =
      result?.reason === 'budget'
        ? (broke ?? allowance?.over(totalUsage([turn.spent ?? null, soFar.usage])))
        : null;
    if (hold) return { end, broke: hold };
    const waited = end.type === 'failed' && soFar.error?.class === 'limit';
    return waited && soFar.error ? { end, limit: soFar.error } : { end };
  }
  const seen = reader.end({ ...result.exit, stderrTail: result.stderrTail });
  return { result: { ...seen, usage: usageSeen(seen, answered) } };
}

/** A limit that was met before the model said anything cost nothing; met later, it is not known what did. */
function usageSeen({ usage, error }: AgentResult, answered: boolean): Usage | null {
  return usage === null && error?.class === 'limit' && !answered ? NOTHING : usage;
}

const NOTHING: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUsd: 0,
};

/** A workspace that cannot be walled in is a matter of configuration. */
function refuse(error: unknown): never {
  throw error instanceof WorkspaceError ? new AttemptConfigError(explained(error)) : error;
}

/** What a sandboxed agent committed belongs onto the ticket's branch, however its run ended. */
async function broughtHome(context: PhaseContext<PhaseOf<'agent'>>): Promise<AttemptEnd | undefined> {
  const agent = context.settings.agents[context.agentName];
  try {
    if (agent) await leaveSandbox(context, agent);
    return undefined;
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    // After a stop nobody waits for git; what was committed is fetched when the ticket goes on.
    if (context.signal.aborted) return undefined;
    return { type: 'failed', error: { class: 'workspace', message: explained(error) } };
  }
}

/** Finds out before the start that a command is not there: the shell's own message would help nobody. */
function requireExecutable(command: string, path: string, agent: string): void {
  const candidates = command.includes('/')
    ? [command]
    : path.split(delimiter).map((dir) => join(dir || '.', command));
  const found = candidates.some((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (!found || (command.includes('/') && !isAbsolute(command))) {
    throw new AttemptConfigError(
      `agent "${agent}": ${found ? `${command} is a relative path` : `${command} is not installed or not executable; see: signalbox doctor`}`,
    );
  }
}

export class AttemptConfigError extends Error {}

export function readNote(dir: string, name: string): string | undefined {
  try {
    return readFileSync(join(dir, name), 'utf8');
  } catch {
    return undefined;
  }
}
