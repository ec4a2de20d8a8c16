import type { Preview, TrainResult } from '../features/merge-train/merge-train.ts';
import { refKey, type TicketRef } from '../model/ids.ts';
import { shellWord } from '../model/text/shell-quote.ts';

/** The result of a merge, a line per ticket. `trusted`: the repository's own settings may name commands. */
export function trainText(result: TrainResult, { trusted }: { trusted: boolean }): string[] {
  const { landed, returned, left, already, target, commit, fastForward, unchecked } = result;
  const name = column([...landed, ...returned, ...left, ...already]);
  const lines = [
    ...landed.map((each) => `✓ ${name(each)}  ${each.pullRequest?.url ?? each.branch}`),
    ...returned.map((each) => `✗ ${name(each)}  ${each.reason}; ${backTo(each.phase)}`),
    ...left.map((each) => `- ${name(each)}  ${each.reason}`),
    ...already.map((each) => `= ${name(each)}  already in ${each.into}`),
  ];
  if (landed.length > 0) lines.push(`${target} is now at ${commit.slice(0, 10)}.`);
  if (unchecked !== null)
    lines.push(
      `Nothing was checked here but that the branches merge. ${unchecked}`,
      'Say in your settings or in signalbox.yaml what has to pass, for example: checks: [npm test]',
      ...(trusted ? [] : [`For signalbox.yaml also: signalbox config trust ${shellWord(result.repo)}`]),
    );
  if (fastForward) lines.push(`To bring it into your checkout: ${fastForward}`);
  for (const planId of plansOf(left.filter(({ pending }) => pending)))
    lines.push(`Once the checks are done: signalbox merge ${planId} --pr`);
  for (const planId of plansOf(returned.filter(({ phase }) => phase !== null)))
    lines.push(`Continue what went back with: signalbox run ${planId}`);
  for (const { planId, ticketId } of returned)
    lines.push(`The log of ${ticketId}: signalbox logs ${planId} ${ticketId}`);
  return lines;
}

/** Ticket names padded to the widest. */
function column(refs: readonly TicketRef[]): (ref: TicketRef) => string {
  const width = Math.max(0, ...refs.map((ref) => refKey(ref).length));
  return (ref) => refKey(ref).padEnd(width);
}

function backTo(phase: string | null): string {
  return phase === null ? 'needs attention' : `back to ${phase}`;
}

function plansOf(refs: readonly TicketRef[]): string[] {
  return [...new Set(refs.map(({ planId }) => planId))];
}

export function previewText({ base, target, order, left, already }: Preview): string[] {
  const name = column([...order, ...left, ...already]);
  const lines = order.map((each, index) => {
    const conflict = each.conflict.length > 0 ? `  conflicts in ${each.conflict.join(', ')}` : '';
    const mark = conflict ? '✗' : `${index + 1}.`;
    return `${mark.padStart(3)} ${name(each)}  ${each.branch}${conflict}`;
  });
  const into = target === base ? base : `${base}, by way of ${target}`;
  return [
    `Into ${into}:`,
    ...lines,
    ...left.map((each) => `  - ${name(each)}  ${each.reason}`),
    ...already.map((each) => `  = ${name(each)}  already in ${each.into}`),
  ];
}
