import { refKey, type TicketRef } from '../../model/ids-and-branch-names.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { attemptKey, type Hold } from '../../model/ticket.ts';
import { oneLine } from '../printable-text.ts';
import { cells } from '../tables-and-text-wrapping.ts';

/** A gate that can be answered here. */
export interface Question extends TicketRef {
  text: string;
  decisions: readonly string[];
  /** By attemptKey: the same ticket may ask another question later. */
  attempt: string;
}

/** The questions that tickets ask. */
export function questionsIn(tickets: readonly Asking[]): Question[] {
  return tickets.map(({ planId, ticketId, decisions, hold, phase, visit, attempt }) => ({
    planId,
    ticketId,
    decisions,
    text: hold?.reason ?? '',
    attempt: phase === null ? '' : attemptKey({ phase, visit, attempt }),
  }));
}

interface Asking extends TicketRef {
  decisions: readonly string[];
  hold: Hold | null;
  phase: string | null;
  visit: number;
  attempt: number;
}

/** The answer that a person is writing to a gate. */
export interface AnswerBox {
  /** The gate's ticket, by refKey. */
  key: string;
  /** The question that the person reads while they type. */
  attempt: string;
  /** Undefined until one is chosen: no single key decides. */
  decision: string | undefined;
  message: string;
  isSending: boolean;
  /** Why nothing was sent. */
  problem: string;
  /** Why the question is no longer open. What was typed stays until the person has seen that, and no key is a command. */
  closed: string;
}

export interface Answer extends TicketRef {
  decision: string;
  message: string;
  attempt: string;
}

const KEYS = {
  esc: ['\u001b'],
  enter: ['\r', '\n'],
  right: ['\u001b[C', '\u001bOC', '\t'],
  left: ['\u001b[D', '\u001bOD'],
  up: ['\u001b[A', '\u001bOA'],
  down: ['\u001b[B', '\u001bOB'],
  back: ['\u007f', '\b'],
  clear: ['\u0015'],
  pageUp: ['\u001b[5~'],
  pageDown: ['\u001b[6~'],
  home: ['\u001b[H', '\u001bOH', '\u001b[1~'],
  end: ['\u001b[F', '\u001bOF', '\u001b[4~'],
};

/** Whether what was typed is this key. */
export function isKey(name: keyof typeof KEYS, keys: string): boolean {
  return KEYS[name].includes(keys);
}

/** The text after a key, or after text that was pasted. Line ends in it are no Enter. */
export function typed(text: string, keys: string): string {
  if (isKey('back', keys)) return [...text].slice(0, -1).join('');
  if (isKey('clear', keys)) return '';
  return keys.startsWith('\u001b') ? text : text + keys.replace(/\p{Cc}+/gu, ' ');
}

/** The item beside the chosen one, in a circle; without a chosen one the first, or backwards the last. */
export function beside<T>(items: readonly T[], chosen: T | undefined, step: 1 | -1): T | undefined {
  const at = chosen === undefined ? -1 : items.indexOf(chosen);
  return items[(Math.max(at, step === 1 ? -1 : 0) + step + items.length) % items.length];
}

/** An open question has only one decision. */
export function emptyBox(question: Question): AnswerBox {
  const { decisions } = question;
  const decision = decisions.length === 1 ? decisions[0] : undefined;
  const { attempt } = question;
  return { key: refKey(question), attempt, decision, message: '', isSending: false, problem: '', closed: '' };
}

/** The question that is being answered, while it is open. */
export function questionOf(box: AnswerBox, questions: readonly Question[]): Question | undefined {
  return questions.find((each) => refKey(each) === box.key && each.attempt === box.attempt);
}

/** Applies a key to the answer of a question. `box` is null when the person leaves it; `send` is what is to be sent. */
export function pressInBox(
  box: AnswerBox,
  keys: string,
  questions: readonly Question[],
): { box: AnswerBox | null; send?: Answer } {
  if (box.closed) return { box: isKey('esc', keys) || isKey('enter', keys) ? null : box };
  const question = questionOf(box, questions);
  if (!question || box.isSending) return { box };
  const { decisions, planId, ticketId, attempt } = question;
  const calm = { ...box, problem: '' };
  if (isKey('esc', keys)) return { box: null };
  if (isKey('right', keys)) return { box: { ...calm, decision: beside(decisions, box.decision, 1) } };
  if (isKey('left', keys)) return { box: { ...calm, decision: beside(decisions, box.decision, -1) } };
  if (isKey('up', keys) || isKey('down', keys))
    return { box: emptyBox(beside(questions, question, isKey('up', keys) ? -1 : 1) ?? question) };
  if (!isKey('enter', keys)) return { box: { ...calm, message: typed(box.message, keys) } };
  const { decision } = box;
  if (decision === undefined) return { box: { ...calm, problem: 'Choose a decision first, with ← and →.' } };
  return {
    box: { ...calm, isSending: true },
    send: { planId, ticketId, decision, message: box.message.trim(), attempt },
  };
}

const INDENT = '  ';
const MESSAGE = `${INDENT}Message, or none: `;

/** The end of a text, as much as fits: that is where a person types. */
function endOf(text: string, most: number): string {
  if (cells(text) <= most) return text;
  const kept = [...text].slice(-most);
  while (kept.length > 0 && cells(kept.join('')) >= most) kept.shift();
  return `…${kept.join('')}`;
}

/** The question, the decisions and the message, a line each; where the question is closed, why, and what was typed. */
export function boxLines(
  box: AnswerBox,
  questions: readonly Question[],
  name: string,
  columns: number,
): string[] {
  if (box.closed)
    return [
      box.closed,
      ...(box.message.trim() ? [`${INDENT}Not sent: ${oneLine(box.message, 1000)}`] : []),
      `${INDENT}Esc or Enter leaves this.`,
    ];
  const question = questionOf(box, questions);
  if (!question) return [];
  const more = questions.length - 1;
  const choices = question.decisions.map((each) => (each === box.decision ? `[${each}]` : ` ${each} `));
  const news = box.isSending ? 'Sending…' : box.problem;
  return [
    `Answer ${name}: ${oneLine(question.text, 1000)}`,
    `${INDENT}Decision: ${choices.join(' ')}`,
    `${MESSAGE}${endOf(oneLine(box.message, Number.POSITIVE_INFINITY), columns - cells(MESSAGE) - 1)}▏`,
    `${INDENT}${news || `← → choose · Enter sends · Esc leaves${more > 0 ? ` · ↑ ↓ ${plural(more, 'other question')}` : ''}`}`,
  ];
}
