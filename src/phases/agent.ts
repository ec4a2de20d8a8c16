import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { adapterFor, capabilityProblems } from '../agents/adapters-and-agent-problems.ts';
import { defaultAccess } from '../agents/command-flags.ts';
import {
  repairAnew,
  repairPrompt,
  taggedInstruction,
  taggedProblem,
} from '../agents/reading/result-block-and-signal.ts';
import { readText } from '../machine/files/read-and-remove-files.ts';
import type { AgentAdapter, AgentConfig, AgentResult } from '../model/agent-and-adapter-types.ts';
import { explained, InputError } from '../model/errors.ts';
import { totalUsage } from '../model/limits/usage-cost-and-estimate.ts';
import type { AttemptEnd } from '../model/state/attempt-end-types-and-waits.ts';
import type { Attempt, Json, Ticket, Usage } from '../model/ticket.ts';
import {
  judgedIn,
  judgementProblem,
  schemaForCriteria,
} from '../model/verdict-criteria-and-missing-checks.ts';
import { type PhaseOf, resultSchemaOf } from '../model/workflow.ts';
import { MAX_PROMPT_BYTES } from '../workflows/find-workflows-prompts-scripts.ts';
import { renderPhasePrompt } from '../workflows/pin-workflow-and-render-prompts.ts';
import { validateResult } from '../workflows/result-schema/validate-result.ts';
import { type Ask, AttemptConfigError, type Turn, type TurnEnd, takeTurn } from './agent-turn.ts';
import { cutShortBy, variablesOf } from './attempt-variables-and-environment.ts';
import { excerpt } from './capture-values-and-excerpt-output.ts';
import { TIP_BEFORE, tipBefore } from './check-evidence.ts';
import {
  budgetHold,
  commitAndEnd,
  hasBegunClosingTurn,
} from './commit-in-closing-turn-when-budget-is-used-up.ts';
import {
  FINGERPRINT_FILE,
  factsOf,
  failure,
  fingerprint,
  fingerprintBefore,
  holdUntilLimitResets,
  judge,
} from './judge-agent-attempt.ts';
import type { PhaseContext } from './phase-context.ts';
import { cleanHead, HEAD_BEFORE, removeChanges } from './restore-shared-tree.ts';

type Context = PhaseContext<PhaseOf<'agent'>>;

/** Lets an agent work, then judges only what can be verified: its end event, its checked result, and the tree. */
export async function performAgent(context: Context): Promise<AttemptEnd> {
  const { agents } = context.settings;
  const agent = Object.hasOwn(agents, context.agentName) ? agents[context.agentName] : undefined;
  if (!agent) {
    const known = Object.keys(agents).join(', ');
    return failure('config', `agent "${context.agentName}" is not configured (known: ${known})`);
  }
  const adapter = adapterFor(agent.adapter);
  const [problem] = capabilityProblems(adapter, context.phase);
  if (problem) return failure('config', `agent "${agent.name}": ${problem}`);
  try {
    const end = await work(context, agent, adapter);
    const isReadOnly = (context.phase.access ?? defaultAccess(agent)) === 'read';
    return isReadOnly ? await removeChanges(context, end) : end;
  } catch (error) {
    if (error instanceof AttemptConfigError || error instanceof InputError)
      return failure('config', isTooLarge(error) ? explained(error) : error.message);
    throw error;
  }
}

/** A retry would fail the same way, so the reason includes the hint. */
const isTooLarge = (error: Error) => error instanceof InputError && error.code === 'prompt/too-large';

async function work(context: Context, agent: AgentConfig, adapter: AgentAdapter): Promise<AttemptEnd> {
  const { phase, ticket, jobDir } = context;
  const schema = resultSchemaOf(phase) ?? null;
  const asked = schema && phase.criteria ? schemaForCriteria(schema, ticket.acceptanceCriteria) : schema;
  const choice = chooseSession(context, adapter, agent.name);
  const access = phase.access ?? defaultAccess(agent);
  const gitDirs = await context.workspaces.gitDirs(context.place.worktree);
  const ask: Ask = (prompt, resume) => ({
    agent,
    prompt,
    access,
    resume,
    schema: asked,
    // Model names of another agent do not apply to a fallback.
    model: (context.standsIn ? null : phase.model) ?? agent.model,
    effort: phase.effort ?? null,
    maxTurns: phase.maxTurns ?? null,
    maxUsd: nativeCap(context, resume ? choice.usageBefore : null),
    allowedTools: phase.allowedTools ?? null,
    gitDirs: () => gitDirs,
  });
  const before = access === 'read' ? (fingerprintBefore(context) ?? (await fingerprint(context))) : '';
  const head = before ? await cleanHead(context) : undefined;
  const tip = await tipBefore(context);
  const shared = { adapter, wantsData: schema !== null };
  const first: Turn = {
    ...shared,
    dir: jobDir,
    usageBefore: choice.usageBefore,
    files: {
      ...(before ? { [FINGERPRINT_FILE]: before } : {}),
      ...(head ? { [HEAD_BEFORE]: head } : {}),
      ...(tip ? { [TIP_BEFORE]: tip } : {}),
    },
    request: async () =>
      ask(
        choice.cutOff
          ? resumePrompt(context)
          : `${await begunElsewhere(context, choice)}${await promptOf(context, adapter, asked)}`,
        choice.resume,
      ),
  };
  const turn = await takeTurn(context, first);
  if ('end' in turn) {
    if (turn.broke) return commitAndEnd(context, first, ask, turn.broke, turn.end);
    // The budget was raised meanwhile.
    if (turn.end.type === 'parked' && hasBegunClosingTurn(context, first))
      return commitAndEnd(context, first, ask, budgetHold('it was asked to stop'), turn.end);
    return turn.limit ? holdUntilLimitResets(context, turn.limit, turn.end) : turn.end;
  }
  let { result } = turn;
  if (result.error?.class === 'budget' && context.allowance) {
    const hold = context.allowance.over(result.usage) ?? budgetHold(result.error.message);
    return commitAndEnd(context, first, ask, hold, factsOf(result));
  }
  if (result.ok && schema && asked) {
    const checked = checkResult(context, schema, result);
    if (checked.ok) {
      result = { ...result, data: checked.value };
    } else {
      const repaired = await repair(context, first, result, checked.problem, { schema, asked }, ask);
      if ('end' in repaired) {
        const { broke, end } = repaired;
        return broke ? commitAndEnd(context, first, ask, broke, end) : end;
      }
      result = repaired.result;
    }
  }
  return judge(context, result, schema, before);
}

/** The limit for the CLI itself, plus what its session had used before, since it counts the whole session. */
function nativeCap({ allowance }: PhaseContext<PhaseOf<'agent'>>, usageBefore: Usage | null): number | null {
  return allowance?.usd == null ? null : allowance.usd + (usageBefore?.costUsd ?? 0);
}

const CONTINUE =
  'You were interrupted. Look at the state of the working tree, then continue the work you were asked to do and finish it.';

const SIGNALS =
  'End as you were asked to, with <promise>TASK_DONE</promise> or <promise>HALT</promise> on a line of its own.';

function resumePrompt({ phase, ticket, attempt }: Context): string {
  const why = cutShortBy(ticket, attempt);
  const prompt = why ? `${CONTINUE} What ended the attempt before: ${why}` : CONTINUE;
  return phase.signals ? `${prompt} ${SIGNALS}` : prompt;
}

async function promptOf(
  context: Context,
  adapter: AgentAdapter,
  schema: Record<string, unknown> | null,
): Promise<string> {
  const text = await renderPhasePrompt(context.pinned, context.phase, variablesOf(context));
  const prompt =
    schema && adapter.capabilities.schema === 'tagged' ? `${text}\n\n${taggedInstruction(schema)}` : text;
  const bytes = Buffer.byteLength(prompt);
  if (bytes > MAX_PROMPT_BYTES) {
    throw new AttemptConfigError(
      `the prompt has ${bytes} bytes with the form of its result; at most ${MAX_PROMPT_BYTES} are allowed. Shorten it, or let the agent read large material from files in the worktree.`,
    );
  }
  return prompt;
}

/**
 * One more turn for a result that does not match its schema or contradicts itself: in the same session, or in a fresh
 * one that gets the task and the answer.
 */
async function repair(
  context: Context,
  first: Turn,
  result: AgentResult,
  problem: string,
  { schema, asked }: { schema: Record<string, unknown>; asked: Record<string, unknown> },
  ask: Ask,
): Promise<TurnEnd> {
  const facts = factsOf(result);
  const bad = { end: { ...resultMismatch(problem), ...facts } };
  const session = first.adapter.capabilities.resume ? result.sessionId : null;
  const prompt = session
    ? repairPrompt(problem, asked)
    : repairAnew(
        { prompt: readText(join(first.dir, 'prompt.md')) ?? '', answer: answerOf(result) },
        problem,
        asked,
      );
  if (context.phase.repair === false || Buffer.byteLength(prompt) > MAX_PROMPT_BYTES) return bad;
  const dir = `${first.dir}.repair`;
  const broke = existsSync(dir) ? null : await context.allowance?.launch();
  if (broke) return { ...bad, broke };
  const turn = await takeTurn(
    { ...context, resumed: context.resumed && existsSync(dir) },
    {
      ...first,
      dir,
      usageBefore: session ? totalUsage([first.usageBefore, result.usage]) : null,
      spent: result.usage,
      files: {},
      request: async () => ask(prompt, session),
    },
  );
  if ('end' in turn)
    return { ...turn, end: { ...turn.end, usage: totalUsage([result.usage, turn.end.usage ?? null]) } };
  const usage = totalUsage([result.usage, turn.result.usage]);
  const again = checkResult(context, schema, turn.result);
  if (turn.result.ok && !again.ok) return { end: { ...resultMismatch(again.problem), ...facts, usage } };
  const data = again.ok ? again.value : turn.result.data;
  return { result: { ...turn.result, data, usage } };
}

/** The final message; the data where there is no other text. */
function answerOf({ text, data }: AgentResult): string {
  return excerpt(text.trim() || (data === undefined ? '' : JSON.stringify(data)), 'end');
}

function resultMismatch(problem: string): AttemptEnd {
  return failure('protocol', `the result does not fit its schema: ${problem}`);
}

/** A result must match its schema; one that judges the ticket's criteria must cover all and not contradict itself. */
function checkResult(
  { phase, ticket }: Context,
  schema: Record<string, unknown>,
  { data, text }: AgentResult,
): ReturnType<typeof validateResult> {
  const unread = data === undefined ? taggedProblem(text) : undefined;
  if (unread) return { ok: false, problem: unread };
  const checked = validateResult(schema, data);
  if (!checked.ok || !phase.criteria) return checked;
  const { outcome, criteria } = checked.value as { outcome: string; criteria?: Json };
  const allMet = phase.criteria.met.includes(outcome);
  const problem = judgementProblem(ticket.acceptanceCriteria, judgedIn(criteria), { outcome, allMet });
  return problem ? { ok: false, problem } : checked;
}

/** What a new session gets to know about the session that it replaces, if that is on another machine. */
async function begunElsewhere(
  { place, ticket, workspaces }: Context,
  { elsewhere }: SessionChoice,
): Promise<string> {
  if (elsewhere === undefined) return '';
  const { repo, worktree: path, branch, base } = place;
  const diff = await workspaces.diff({ repo, path, branch }, base.commit, 'patch');
  const last = ticket.phaseHistory.findLast(
    ({ sessionId, output }) => sessionId === elsewhere && output !== null,
  );
  return [
    'This work was begun on another machine, in a session that cannot be continued here.',
    ...(last?.output ? [`Its last result:\n\n${last.output}`] : []),
    diff.trim() === ''
      ? 'Nothing has been changed yet.'
      : `What has been changed so far:\n\n${excerpt(diff, 'start')}`,
    'The task:\n\n',
  ].join('\n\n');
}

interface SessionChoice {
  /** Session to continue, or null for a fresh one. */
  resume: string | null;
  /** The last attempt was cut off, and its session has the task. */
  cutOff: boolean;
  usageBefore: Usage | null;
  /** The session that it would continue if that were on this machine. */
  elsewhere?: string | undefined;
}

/** The session that an attempt continues. One that another machine has is only named. */
function chooseSession(context: Context, adapter: AgentAdapter, agent: string): SessionChoice {
  const { ticket } = context;
  const choice = chooseAmongUsable(context, adapter, agent);
  if (choice.resume !== null || !ticket.rewound?.moved) return choice;
  const asIfHere = chooseAmongUsable({ ...context, ticket: { ...ticket, rewound: null } }, adapter, agent);
  return { ...choice, elsewhere: asIfHere.resume ?? undefined };
}

/** The session that an attempt continues: one that was cut off, else what the phase asks for. */
function chooseAmongUsable(
  { phase, ticket, attempt }: Context,
  adapter: AgentAdapter,
  agent: string,
): SessionChoice {
  const fresh = { resume: null, cutOff: false, usageBefore: null };
  if (!adapter.capabilities.resume) return fresh;
  const before = ticket.phaseHistory.filter((entry) => entry !== attempt && entry.completedAt !== null);
  const usable = before.filter(
    (entry) => entry.sessionId !== null && entry.agent === agent && isOfThisTree(ticket, entry),
  );
  const resume = ({ sessionId }: Attempt, cutOff = false) => ({
    resume: sessionId,
    cutOff,
    usageBefore: usageOf(usable, sessionId),
  });
  const last = before.at(-1);
  const isOfVisit = last?.phase === phase.id && last.visit === attempt.visit;
  const wasCutOff = last?.status === 'interrupted' || last?.status === 'limit';
  if (last && isOfVisit && wasCutOff && usable.includes(last)) {
    // Where the task was rewritten since, the session needs its text again.
    const isOutdated = ticket.retold !== undefined && Date.parse(ticket.retold) >= Date.parse(last.startedAt);
    return resume(last, !isOutdated);
  }
  if (phase.session === 'fresh') return fresh;
  const same = usable.findLast((entry) => entry.phase === phase.id);
  const own = phase.session === 'keep' ? roomIn(same) : (same ?? usable.at(-1));
  return own ? resume(own) : fresh;
}

/**
 * A session is of no use when its tree was rewound since, or if it stayed on another machine. One that was carried here is as it was
 * when its last attempt ended.
 */
function isOfThisTree({ rewound }: Ticket, entry: Attempt): boolean {
  if (!rewound || Date.parse(entry.startedAt) >= Date.parse(rewound.at)) return true;
  return entry.status !== 'interrupted' && rewound.sessions?.includes(entry.sessionId ?? '') === true;
}

/** A session that is full, or runs in a loop, would fail for the same reason again. */
function roomIn(entry: Attempt | undefined): Attempt | undefined {
  return entry?.error?.class === 'context' || entry?.error?.class === 'loop' ? undefined : entry;
}

/** The earlier usage of the session, for CLIs that report totals. */
function usageOf(entries: Attempt[], sessionId: string | null): Usage | null {
  const known = entries.flatMap((entry) =>
    entry.sessionId === sessionId && entry.usage ? [entry.usage] : [],
  );
  return totalUsage(known);
}
