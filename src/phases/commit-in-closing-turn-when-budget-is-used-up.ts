import { existsSync } from 'node:fs';
import { totalUsage } from '../model/limits/usage-cost-and-estimate.ts';
import type { AttemptEnd } from '../model/state/attempt-end-types-and-waits.ts';
import type { Hold, Usage } from '../model/ticket.ts';
import type { PhaseOf } from '../model/workflow.ts';
import { type Ask, type Turn, takeTurn } from './agent-turn.ts';
import type { Facts } from './judge-agent-attempt.ts';
import type { PhaseContext } from './phase-context.ts';

const SECONDS = 180;
const TURNS = 6;
const PROMPT =
  'The budget for this work is used up. Begin nothing new and run no tests. Commit what is done so far ' +
  '(git add --all, then git commit with a message that says what is still missing), and stop.';

/**
 * Ends an attempt whose budget is used up. Where its session can continue and something is not committed, one short turn
 * asks for that; it is bounded by time and turns, since there is no money left to bound it by. It is a launch, too.
 */
export async function commitAndEnd(
  context: PhaseContext<PhaseOf<'agent'>>,
  first: Turn,
  ask: Ask,
  hold: Hold,
  facts: Facts,
): Promise<AttemptEnd> {
  const { sessionId = null, output = null } = facts;
  const end = (usage: Usage | null | undefined): AttemptEnd => ({
    type: 'parked',
    kind: 'budget',
    until: hold.until,
    reason: hold.reason,
    sessionId,
    output,
    usage: usage ?? null,
  });
  const can = first.adapter.capabilities.resume && sessionId !== null && !context.signal.aborted;
  const dir = landingOf(first);
  if (!can) return end(facts.usage);
  // A turn that has started may have committed everything and ended; its cost still has to be read.
  if (!hasBegunClosingTurn(context, first)) {
    if (!(await hasUncommitted(context)) || (await context.allowance?.launch())) return end(facts.usage);
  }
  context.onNote?.(`${hold.reason}; it commits what is done and stops`);
  const turn = await takeTurn(
    { ...context, resumed: context.resumed && existsSync(dir) },
    {
      ...first,
      dir,
      files: {},
      wantsData: false,
      closingSeconds: SECONDS,
      spent: facts.usage ?? null,
      usageBefore: totalUsage([first.usageBefore, facts.usage ?? null]),
      request: async () => ({
        ...ask(PROMPT, sessionId),
        schema: null,
        maxUsd: null,
        maxTurns: first.adapter.capabilities.maxTurns ? TURNS : null,
      }),
    },
  );
  const more = 'end' in turn ? turn.end.usage : turn.result.usage;
  return end(totalUsage([facts.usage ?? null, more ?? null]));
}

const landingOf = ({ dir }: Turn) => `${dir}.landing`;

/** Whether an earlier engine started this turn. */
export function hasBegunClosingTurn({ resumed }: PhaseContext, first: Turn): boolean {
  return resumed && existsSync(landingOf(first));
}

async function hasUncommitted({
  place,
  workspaces,
  phase,
}: PhaseContext<PhaseOf<'agent'>>): Promise<boolean> {
  if (phase.access === 'read') return false;
  const seen = await workspaces.evidence(place.worktree, place.base.commit, { dirty: true, files: false });
  return seen.dirty.length > 0;
}

/** The CLI stopped by itself before the usage that it reported reached the budget. */
export function budgetHold(message: string): Hold {
  return { kind: 'budget', reason: `its budget is used up: ${message}`, until: null };
}
