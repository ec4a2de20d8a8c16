import { type EngineContext, emit } from '../../engine/context.ts';
import { refOf } from '../../engine/status-events.ts';
import { WorkspaceError } from '../../model/errors.ts';
import type { Ticket } from '../../model/ticket.ts';
import { type CaughtUp, GitError, type WorkspaceSpec } from '../../workspaces/index.ts';
import { forgeJournal } from '../pull-requests/context.ts';
import { EarlierIssues, sourceKey } from './previous-runs.ts';

/**
 * An issue that is run once more begins with what people have pushed to its branch since: at the end it could not be
 * pushed any more. Only looks where an earlier run has pushed the branch.
 */
export async function beginWithPushed(
  parts: EngineContext,
  ticket: Ticket,
  spec: WorkspaceSpec,
): Promise<void> {
  if (ticket.skipPhases?.includes('pull_request')) return;
  if (ticket.phaseHistory.some(({ status }) => status === 'success')) return;
  const known = (await lastPushed(parts, ticket, spec))?.commit;
  if (known === undefined) return;
  const { repo, path, branch, signal } = spec;
  let done: CaughtUp;
  try {
    const wish = { repo, path, branch, known, base: null, takeTheirs: false };
    done = await parts.workspaces.patient({ signal }).catchUp(wish);
  } catch (error) {
    if (!(error instanceof GitError) || signal?.aborted) throw error;
    // Deleted there, it is pushed anew; whether origin can be reached shows at the push.
    if (!/couldn't find remote ref/.test(error.stderr))
      tell(parts, ticket, `What people pushed to ${branch} was not looked at: ${error.message}`);
    return;
  }
  if (done.state === 'conflict' || done.state === 'rewritten') throw apart(ticket, spec, done);
  forgeJournal(parts, ticket).note('found', { commit: done.there });
  if (done.state === 'advanced' || done.state === 'merged')
    tell(parts, ticket, `${branch} goes on with ${count(done.by)} that somebody else pushed to it.`);
}

/** What origin had last by our own doing, in this run or an earlier one. */
export async function lastPushed(
  parts: EngineContext,
  ticket: Ticket,
  spec: Pick<WorkspaceSpec, 'repo' | 'branch'>,
): Promise<{ commit: string; at: string } | undefined> {
  const earlier = await new EarlierIssues(parts).of(sourceKey(ticket) ?? '', spec.repo);
  return [...earlier, ticket]
    .filter(({ branch }) => branch === spec.branch)
    .flatMap((each) => forgeJournal(parts, each).heads())
    .sort((a, b) => a.at.localeCompare(b.at))
    .at(-1);
}

function apart(
  { planId, ticketId }: Ticket,
  { path, branch }: WorkspaceSpec,
  done: Extract<CaughtUp, { state: 'conflict' | 'rewritten' }>,
): WorkspaceError {
  const retry = `signalbox retry ${planId} ${ticketId}`;
  if (done.state === 'rewritten')
    return new WorkspaceError('workspace/rewritten', `Somebody rewrote ${branch} on origin.`, {
      hint: `Take it as it is there: signalbox forge sync ${planId} ${ticketId} --theirs, then: ${retry}`,
      details: { branch },
    });
  return new WorkspaceError(
    'workspace/conflict',
    `What somebody pushed to ${branch} conflicts with what is here in ${done.files.join(', ')}.`,
    {
      hint: `Merge it by hand: git -C ${path} fetch origin ${branch} && git -C ${path} merge FETCH_HEAD, then: ${retry}`,
      details: { branch, files: done.files },
    },
  );
}

function tell(parts: EngineContext, ticket: Ticket, message: string): void {
  emit(parts, { type: 'problem', message, path: null, ...refOf(ticket) });
}

const count = (commits: number) => (commits === 1 ? 'a commit' : `${commits} commits`);
