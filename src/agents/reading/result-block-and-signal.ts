import { messageOf } from '../../model/errors.ts';
import { cleanText, escapeTags } from '../../model/text/clean-escape-quote-plural.ts';
import { visibleLines } from '../../model/text/markdown-lines.ts';
import { isTooDeep, parseJson, TOO_DEEP } from '../../model/text/parse-json-and-find-places.ts';
import type { Json } from '../../model/ticket.ts';

const OPEN = '<signalbox>';
const CLOSE = '</signalbox>';
const FENCE = /^```\w*\s([\s\S]*)```$/;
/** A value may itself contain the opening tag, but hardly more often than this. */
const MAX_OPENS = 20;

/** The value of the last `<signalbox>` block of a text, or undefined when there is none or it is not JSON. */
export function extractTagged(text: string): Json | undefined {
  for (const block of lastBlocks(text)) {
    const value = jsonIn(block);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** What may be the last block: the text up to the last closing tag from the last opening tag on, from the one before it… */
function lastBlocks(text: string): string[] {
  const [, ...parts] = text.slice(0, Math.max(0, text.lastIndexOf(CLOSE))).split(OPEN);
  return parts
    .slice(-MAX_OPENS)
    .map((_, index, all) => all.slice(index).join(OPEN))
    .reverse();
}

/** Why the last block of a text cannot be read; undefined when there is no block, or a valid one. */
export function taggedProblem(text: string): string | undefined {
  const [block] = lastBlocks(text);
  if (block === undefined || extractTagged(text) !== undefined) return undefined;
  const body = bodyOf(block);
  if (body === '') return `there is nothing between ${OPEN} and ${CLOSE}`;
  if (isTooDeep(body)) return `the JSON between ${OPEN} and ${CLOSE} is ${TOO_DEEP}`;
  try {
    JSON.parse(body);
    return undefined;
  } catch (error) {
    return `the text between ${OPEN} and ${CLOSE} is not JSON: ${messageOf(error)}`;
  }
}

/** The result in a final message: a tagged block, or a message that is nothing but JSON. */
export function resultInText(text: string): Json | undefined {
  return extractTagged(text) ?? jsonIn(text);
}

function bodyOf(text: string): string {
  const trimmed = text.trim();
  return FENCE.exec(trimmed)?.[1] ?? trimmed;
}

function jsonIn(text: string): Json | undefined {
  return parseJson(bodyOf(text)) as Json | undefined;
}

/** The paragraph a prompt ends with when the agent's CLI has no schema flag. */
export function taggedInstruction(schema: Record<string, unknown>): string {
  return [
    `When you are done, end your last message with one block that holds the result as JSON between ${OPEN} and ${CLOSE},`,
    'and write nothing after it. Only the last such block is read. The JSON must match this JSON Schema:',
    '',
    JSON.stringify(schema, null, 2),
    '',
    'The form of the block:',
    '',
    `${OPEN}{"…": "…"}${CLOSE}`,
  ].join('\n');
}

/** The prompt of the one extra turn for a result that was missing or did not match. */
export function repairPrompt(problem: string, schema: Record<string, unknown>): string {
  return [
    `Your result could not be used: ${problem}`,
    '',
    'Do no further work and change no file. Answer only with the corrected result.',
    '',
    taggedInstruction(schema),
  ].join('\n');
}

/** The same for an agent that cannot resume its session: the prompt repeats the task and the answer. */
export function repairAnew(
  first: { prompt: string; answer: string },
  problem: string,
  schema: Record<string, unknown>,
): string {
  return [
    'Your task was the text between the `<asked>` tags, and you have done it. Your answer is between the `<answered>` tags.',
    '',
    `<asked>\n${escapeTags(first.prompt, ['asked'])}\n</asked>`,
    '',
    `<answered>\n${escapeTags(first.answer, ['answered'])}\n</answered>`,
    '',
    repairPrompt(problem, schema),
  ].join('\n');
}

/** What an agent says about its own work. */
export type Signal =
  | { kind: 'halt' /** The reason or question; empty where the agent gave none. */; reason: string }
  | { kind: 'complete' }
  | { kind: 'task_done' };

const HALT = /^<promise>\s*HALT\s*(?:[:–—-](.*))?<\/promise>$/i;
const COMPLETE = /^<promise>\s*COMPLETE\s*<\/promise>$/i;
const TASK_DONE = /^(?:<promise>\s*TASK_DONE\s*<\/promise>|TASK_DONE)$/;
const BLOCK = /<signalbox>[\s\S]*?<\/signalbox>/g;
const MAX_REASON = 4_000;

/**
 * The signal in an agent's final message. It counts only on a line of its own and outside code blocks, so that a quoted
 * prompt is no signal. HALT wins; of the others, the last one.
 */
export function readSignal(message: string): Signal | null {
  const lines = visibleLines(message.replace(BLOCK, '')).map((line) => line.trim());
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
  const inside = HALT.exec(lines[at] ?? '')?.[1]?.trim();
  const isSignal = (line: string) => [HALT, COMPLETE, TASK_DONE].some((signal) => signal.test(line));
  const said = (part: readonly string[]) =>
    part
      .filter((line) => !isSignal(line))
      .join('\n')
      .trim();
  const paragraphs = said(lines).split(/\n{2,}/);
  return cleanText(inside || said(lines.slice(at + 1)) || (paragraphs.at(-1) ?? ''), MAX_REASON);
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
 * HALT beats everything; a verdict beats COMPLETE and TASK_DONE. The answer is only a claim: `done` still needs the
 * evidence and the checks, and silence is not success.
 */
export function claimedBy(signal: Signal | null, verdict: Verdict | null): Claimed {
  if (signal?.kind === 'halt') return { kind: 'halted', reason: signal.reason || (verdict?.reason ?? '') };
  if (verdict?.outcome === 'halt') return { kind: 'halted', reason: verdict.reason ?? '' };
  if (verdict?.outcome === 'failed') return { kind: 'failed', reason: verdict.reason ?? '' };
  return verdict || signal ? { kind: 'done' } : { kind: 'nothing' };
}
