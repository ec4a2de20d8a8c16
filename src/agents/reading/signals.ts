import { cleanText } from '../../model/text/clean.ts';
import { visibleLines } from '../../model/text/markdown-lines.ts';

/** What an agent says about its own work. */
export type Signal =
  | { kind: 'halt' /** The reason or question; empty where the agent gave none. */; reason: string }
  | { kind: 'complete' }
  | { kind: 'task_done' };

const HALT = /^<promise>\s*HALT\s*(?:[:–—-]\s*(.*?))?\s*<\/promise>$/i;
const COMPLETE = /^<promise>\s*COMPLETE\s*<\/promise>$/i;
const TASK_DONE = /^(?:<promise>\s*TASK_DONE\s*<\/promise>|TASK_DONE)$/;
const BLOCK = /<signalbox>[\s\S]*?<\/signalbox>/g;
const MAX_REASON = 4_000;

/**
 * The signal of an agent's final message. It counts on a line of its own and outside code blocks, so that a prompt that
 * is quoted, or talked about, is none. HALT wins; of the others the last one.
 */
export function readSignal(message: string): Signal | null {
  const text = message.replace(/\r\n?/g, '\n').replace(BLOCK, '');
  const lines = visibleLines(text).map((line) => line.trim());
  const halt = lines.findLastIndex((line) => HALT.test(line));
  if (halt >= 0) return { kind: 'halt', reason: reasonOf(lines, halt) };
  for (const line of lines.reverse()) {
    if (COMPLETE.test(line)) return { kind: 'complete' };
    if (TASK_DONE.test(line)) return { kind: 'task_done' };
  }
  return null;
}

/** The text in the signal, else after it, else the paragraph before it. */
function reasonOf(lines: readonly string[], at: number): string {
  const inside = HALT.exec(lines[at] ?? '')?.[1] ?? '';
  const isSignal = (line: string) => [HALT, COMPLETE, TASK_DONE].some((signal) => signal.test(line));
  const said = (part: readonly string[]) =>
    part
      .filter((line) => !isSignal(line))
      .join('\n')
      .trim();
  const before =
    said(lines.slice(0, at))
      .split(/\n{2,}/)
      .at(-1) ?? '';
  return cleanText(inside || said(lines.slice(at + 1)) || before, MAX_REASON);
}

/** The result that a schema-checked answer states, in the words of a spec run. */
export interface Verdict {
  outcome: 'done' | 'failed' | 'halt';
  reason?: string;
}

export type Claimed =
  | { kind: 'halted'; reason: string }
  | { kind: 'done' }
  | { kind: 'failed'; reason: string }
  | { kind: 'nothing' };

/**
 * HALT beats everything, a verdict beats COMPLETE and TASK_DONE. What comes out is only a claim: done still needs the
 * evidence and the checks, and nothing said is not success.
 */
export function claimedBy(signal: Signal | null, verdict: Verdict | null): Claimed {
  if (signal?.kind === 'halt') return { kind: 'halted', reason: signal.reason || (verdict?.reason ?? '') };
  if (verdict?.outcome === 'halt') return { kind: 'halted', reason: verdict.reason ?? '' };
  if (verdict?.outcome === 'failed') return { kind: 'failed', reason: verdict.reason ?? '' };
  return verdict || signal ? { kind: 'done' } : { kind: 'nothing' };
}
