import { type ActionCall, isFatal, type StepEnd } from '../../engine/context.ts';
import { type ActionName, EXIT } from '../../model/actions.ts';
import { InputError, SignalboxError } from '../../model/errors.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import type { CaughtUp } from '../../workspaces/workspaces.ts';
import { answerReview } from './answer-review.ts';
import { openPullRequest } from './push-and-open-pull-request.ts';
import { mergeTicketPull, pushTicket, syncTicket } from './push-and-sync-branch-merge-pull-request.ts';
import { isFinalRefusal, temporaryTroubleOf } from './temporary-and-final-errors.ts';
import { reviewOf, watchPull } from './watch-pull-request.ts';

type Call = Pick<ActionCall, 'engine' | 'ref' | 'inputs'> & {
  /** False for a person at the command line, who sees every error. */
  inPhase: boolean;
};
type Step = (call: Call) => Promise<StepEnd>;

/** The end of a step that made or changed something with an address. */
const done = (data: { url: string }): StepEnd => ({ exit: EXIT.done, out: data.url, data });

/** What is done for a ticket on GitHub. Phases and the command line call the same steps. */
const STEPS = {
  'push-branch': async ({ engine, ref }) => {
    const data = await pushTicket(engine, ref);
    return { exit: EXIT.done, out: data.commit, data };
  },
  'pull-request': async ({ engine, ref }) => done(await openPullRequest(engine, ref)),
  'sync-branch': async ({ engine, ref, inputs, inPhase }) => {
    const data = await syncTicket(engine, ref, inputs.theirs === true);
    return { ...syncEnd(data, inPhase), data };
  },
  'answer-review': async ({ engine, ref }) => done(await answerReview(engine, ref)),
  'merge-pull-request': async ({ engine, ref }) => done(await mergeTicketPull(engine, ref)),
} as const satisfies Partial<Record<ActionName, Step>>;

/** Steps that only read, for polls and gates. */
const POLLS = {
  'pull-request-poll': async ({ engine, ref, inputs, inPhase }) => {
    const data = await watchPull(engine, ref, inputs.for ?? 'review');
    // A phase would only start another round.
    if ('unsolved' in data && data.unsolved !== undefined && inPhase)
      throw new SignalboxError('forge/unsolved', data.unsolved, {
        hint: 'Merge the base into the branch by hand and push it.',
      });
    if (!('waiting' in data)) return { exit: EXIT.done, out: `${data.outcome}\n${data.message}`, data };
    return { exit: data.unseen && inPhase ? EXIT.notNow : EXIT.waiting, out: data.waiting, data };
  },
  'pull-request-review': async ({ engine, ref }) => {
    const data = await reviewOf(engine, ref);
    if ('waiting' in data) return { exit: EXIT.waiting, out: data.waiting, data };
    return { exit: EXIT.done, out: `${data.decision}\n${data.message}`, data };
  },
} as const satisfies Partial<Record<ActionName, Step>>;

export type ForgeStep = keyof typeof STEPS | keyof typeof POLLS;

export async function forgeStep(name: ForgeStep, call: Call): Promise<StepEnd> {
  if (name in POLLS) return poll(POLLS[name as keyof typeof POLLS], call);
  return waitingForTrouble(call, () => STEPS[name as keyof typeof STEPS](call));
}

/** Ends a phase with temporary trouble as "not now", with the time of the next try; final trouble is refused. */
export async function waitingForTrouble(
  { engine, inPhase }: Pick<Call, 'engine' | 'inPhase'>,
  step: () => Promise<StepEnd>,
): Promise<StepEnd> {
  try {
    return await step();
  } catch (error) {
    if (!inPhase) throw error;
    if (isFinalRefusal(error)) return { exit: EXIT.refused, err: said(error, ' '), data: null };
    const trouble = await temporaryTroubleOf(engine, error);
    if (!trouble) throw error;
    return { exit: EXIT.notNow, out: `${trouble.until}\n${trouble.reason}`, data: null };
  }
}

/** A poll that fails has an exit code of its own: 1 means that there is nothing new. */
async function poll(step: Step, call: Call): Promise<StepEnd> {
  try {
    return await step(call);
  } catch (error) {
    const isShown = error instanceof InputError && !call.inPhase;
    if (!(error instanceof SignalboxError) || isShown || isFatal(error)) throw error;
    return { exit: EXIT.unusable, err: said(error, '\n   '), data: null };
  }
}

function said({ message, hint }: SignalboxError, between: string): string {
  return `❌ ${[message, ...(hint?.split('\n') ?? [])].join(between)}`;
}

function syncEnd(done: CaughtUp, inPhase: boolean): Omit<StepEnd, 'data'> {
  const no = inPhase ? EXIT.refused : EXIT.failed;
  switch (done.state) {
    case 'same':
      return { exit: EXIT.done, out: 'Nothing new was pushed.' };
    case 'advanced':
      return { exit: EXIT.done, out: `Took over ${plural(done.by, 'commit')} from origin.` };
    case 'merged':
      return { exit: EXIT.done, out: `Merged ${plural(done.by, 'commit')} from origin.` };
    case 'taken': {
      const kept = done.keptAt ? ` Ours is kept at ${done.keptAt}.` : '';
      return { exit: EXIT.done, out: `Took the branch as it is on origin.${kept}` };
    }
    case 'conflict':
      return { exit: no, err: `What was pushed conflicts with the work here in ${done.files.join(', ')}.` };
    case 'rewritten':
      return {
        exit: no,
        err: `The branch was rewritten on origin: ${done.there.slice(0, 10)} is without our commits.`,
      };
  }
}
