import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { adapterFor } from '../agents/adapters-and-agent-problems.ts';
import type { AgentEvent } from '../model/agent-and-adapter-types.ts';
import { endOfCharacter, withoutSequences } from '../model/text/clean-escape-quote-plural.ts';
import { lineRedactor, type Redact } from '../model/text/find-and-redact-secrets.ts';
import type { Attempt } from '../model/ticket.ts';
import type { OutputSource } from '../report/find-attempt-output.ts';
import type { TextWindow, Transcript, TranscriptEntry } from './schemas-of-api-answers-events-and-bodies.ts';

/** Which part of a file: the one that ends before an offset (default: its end), or the one that begins at an offset. */
export interface Wanted {
  before?: number | undefined;
  after?: number | undefined;
  bytes?: number | undefined;
}

const DEFAULT_BYTES = 128 * 1024;
const MAX_BYTES = 1024 * 1024;
/** A window grows up to this size until it has one whole line. Agents print the content of files as one line. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
/** Read in front of a window, because a secret may have begun there; and behind it, because tool calls end there. */
const LOOK_BEHIND_BYTES = 16 * 1024;
const LOOK_AHEAD_BYTES = 512 * 1024;
/** Of a longer entry or line, the middle is left out. With many colours, more of it would stop a browser for seconds. */
const MAX_ENTRY_CHARS = 64 * 1024;
const LINE_FEED = 10;

interface Line {
  at: number;
  text: string;
}

/** A file of a job, or what the store has of it. */
interface Printed {
  size: number;
  bytes(from: number, to: number): Buffer;
}

/** The text of a window of a job's file, without secrets. */
export function readWindow(
  source: OutputSource,
  name: 'stdout' | 'stderr' | 'prompt.md',
  wanted: Wanted,
  redact: Redact,
): TextWindow {
  return withPrinted(source, name, { from: 0, to: 0, size: 0, text: '' }, (printed) => {
    const { size } = printed;
    const { from, to, lines, earlier } = linesIn(printed, wanted, true);
    const clean = cleaner(redact, earlier);
    const place = { clean, max: MAX_ENTRY_CHARS, file: fileOf(source, name) };
    const text = lines.map((line) => withoutMiddle(line.text, place).text).join('\n');
    return { from, to, size, text: lines.length > 0 && to < size ? `${text}\n` : text };
  });
}

/** What an agent or script printed in a window of its output, as entries. */
export function readTranscript(
  source: OutputSource,
  attempt: Attempt,
  wanted: Wanted,
  redact: Redact,
): Transcript {
  const ended = attempt.completedAt !== null;
  const none: Transcript = { from: 0, to: 0, size: 0, ended, entries: [] };
  return withPrinted(source, 'stdout', none, (printed) => {
    const { size } = printed;
    const { from, to, lines, earlier } = linesIn(printed, wanted, ended);
    const clean = cleaner(redact, earlier);
    const entries = new Entries({ clean, max: MAX_ENTRY_CHARS, file: fileOf(source, 'stdout') });
    const read = readerOf(source, attempt);
    for (const { at, text } of lines) entries.add(at, read(text));
    if (entries.hasOpenTools && to < size) {
      const behind = linesIn(printed, { after: to, bytes: LOOK_AHEAD_BYTES }, ended);
      for (const { text } of behind.lines) entries.endTools(read(text));
    }
    return { from, to, size, ended, entries: entries.all };
  });
}

/** Turns a line of output into events; output of anything but an agent is one event per line. */
function readerOf(
  { adapter }: OutputSource,
  attempt: Attempt,
): (line: string) => (AgentEvent | { type: 'raw'; text: string })[] {
  if (!attempt.agent || !adapter) return (line) => [{ type: 'raw', text: line }];
  const reader = adapterFor(adapter).reader({ now: attempt.startedAt, usageBefore: null, wantsData: false });
  return (line) => reader.line(line);
}

/** Entries in the order of their lines. A tool call and its end are one entry, at the place of the call. */
class Entries {
  readonly all: TranscriptEntry[] = [];
  readonly #open: { call: string; entry: TranscriptEntry }[] = [];
  readonly #place: Place;

  constructor(place: Place) {
    this.#place = place;
  }

  get hasOpenTools(): boolean {
    return this.#open.length > 0;
  }

  add(at: number, events: readonly (AgentEvent | { type: 'raw'; text: string })[]): void {
    let part = 0;
    for (const event of events) {
      if (event.type === 'usage' || (event.type === 'tool' && this.#end(event))) continue;
      const entry = { at, part: part++, ...this.#entryOf(event) };
      this.all.push(entry);
      if (event.type === 'tool' && !event.done) this.#open.push({ call: callOf(event), entry });
    }
  }

  /** Takes only the ends of calls that are open. */
  endTools(events: readonly (AgentEvent | { type: 'raw'; text: string })[]): void {
    for (const event of events) if (event.type === 'tool') this.#end(event);
  }

  #end(event: Extract<AgentEvent, { type: 'tool' }>): boolean {
    const index = event.done ? this.#open.findIndex(({ call }) => call === callOf(event)) : -1;
    const [found] = index < 0 ? [] : this.#open.splice(index, 1);
    if (!found) return false;
    Object.assign(found.entry, this.#entryOf(event));
    return true;
  }

  #entryOf(event: Exclude<AgentEvent, { type: 'usage' }> | { type: 'raw'; text: string }) {
    const { text, cut } = withoutMiddle(textOf(event), this.#place);
    const kind = event.type;
    if (event.type !== 'tool') return { kind, text, tool: null, cut };
    const output = event.output === undefined ? null : withoutMiddle(event.output, this.#place);
    const { name, done, failed = false } = event;
    return {
      kind,
      text,
      tool: { name: this.#place.clean(name), done, failed, output: output?.text ?? null },
      cut: cut + (output?.cut ?? 0),
    };
  }
}

/** What is done with text before it is shown. */
interface Place {
  clean(text: string): string;
  max: number;
  /** Where all of it is, on this machine. */
  file: string | null;
}

function fileOf({ dir }: OutputSource, name: string): string | null {
  return dir === null ? null : join(dir, name);
}

/** Both ends of a long text. A secret at a cut is still whole when it is looked for. */
function withoutMiddle(text: string, { clean, max, file }: Place): { text: string; cut: number } {
  if (text.length <= max) return { text: clean(text), cut: 0 };
  const half = max / 2;
  const head = clean(text.slice(0, half + LOOK_BEHIND_BYTES));
  const tail = clean(text.slice(-half - LOOK_BEHIND_BYTES));
  const cut = text.length - max;
  const where = file === null ? '' : ` The file is ${file}.`;
  const note = `[${cut} characters are left out here.${where}]`;
  const [end, start] = [seam(head, half), seam(tail, Math.max(0, tail.length - half))];
  return { text: `${head.slice(0, end)}\u001b[0m\n${note}\n${tail.slice(start)}`, cut };
}

/** Where text can be cut without cutting a character or a colour. */
function seam(text: string, at: number): number {
  const colour = text.slice(Math.max(0, at - MAX_COLOUR_CHARS), at).lastIndexOf('\u001b');
  return colour < 0 ? endOfCharacter(text, at) : Math.max(0, at - MAX_COLOUR_CHARS) + colour;
}

const callOf = ({ name, summary }: Extract<AgentEvent, { type: 'tool' }>) => `${name} ${summary}`;

function textOf(event: Exclude<AgentEvent, { type: 'usage' }> | { type: 'raw'; text: string }): string {
  switch (event.type) {
    case 'raw':
    case 'text':
      return event.text;
    case 'session':
      return event.id;
    case 'tool':
      return event.summary;
    case 'limit':
    case 'refused':
    case 'warning':
      return event.message;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
const COLOURS = /\u001b\[([\d;:]{0,40})m/;
const MAX_COLOUR_CHARS = 43;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Text of any origin as data: colours stay as they were printed, every other control sequence is taken out. */
function withColoursOnly(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .split(new RegExp(COLOURS, 'g'))
    .map((part, at) => (at % 2 === 1 ? `\u001b[${part}m` : withoutSequences(part).replace(CONTROLS, '')))
    .join('');
}

/** Takes secrets and control sequences out of text, line by line: a private key has many lines. */
function cleaner(redact: Redact, earlier: readonly Line[]): (text: string) => string {
  const redactLine = lineRedactor(redact);
  for (const { text } of earlier) redactLine(text);
  return (text) => withColoursOnly(text.split('\n').map(redactLine).join('\n'));
}

function withPrinted<T>(
  source: OutputSource,
  name: 'stdout' | 'stderr' | 'prompt.md',
  none: T,
  read: (printed: Printed) => T,
): T {
  if (source.dir === null) {
    const chunks: Buffer[] = [];
    if (name !== 'prompt.md') source.read(name, 0, (chunk) => void chunks.push(chunk));
    const all = Buffer.concat(chunks);
    return read({ size: all.length, bytes: (from, to) => all.subarray(from, to) });
  }
  let fd: number;
  try {
    fd = openSync(join(source.dir, name), 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return none;
    throw error;
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) return none;
    return read({ size: stat.size, bytes: (from, to) => bytesOf(fd, from, to) });
  } finally {
    closeSync(fd);
  }
}

/** The whole lines of a window, and some in front of it. A line that is not ended yet counts only if nothing more comes. */
function linesIn(
  printed: Printed,
  { before, after, bytes = DEFAULT_BYTES }: Wanted,
  ended: boolean,
): { from: number; to: number; lines: Line[]; earlier: Line[] } {
  const { size } = printed;
  const length = Math.min(Math.max(bytes, 1), MAX_BYTES);
  if (after !== undefined) {
    const from = Math.min(after, size);
    for (let wanted = length; ; wanted *= 4) {
      const to = Math.min(size, from + wanted);
      const buffer = printed.bytes(from, to);
      const last = buffer.lastIndexOf(LINE_FEED);
      const isWhole = to === size && ended;
      if (last < 0 && !isWhole && to < size && wanted < MAX_LINE_BYTES) continue;
      const cut = isWhole || (last < 0 && to < size) ? buffer.length : last + 1;
      return { ...split(buffer.subarray(0, cut), from), earlier: earlierThan(printed, from) };
    }
  }
  const end = lineEnd(printed, Math.min(before ?? size, size), { ended: ended || before !== undefined });
  for (let wanted = length; ; wanted *= 4) {
    const start = Math.max(0, end - wanted);
    const buffer = printed.bytes(start, end);
    // The byte in front of a line that is in the window as a whole.
    const first = start === 0 ? -1 : buffer.indexOf(LINE_FEED);
    const isCut = start > 0 && (first < 0 || first === buffer.length - 1);
    if (isCut && wanted < MAX_LINE_BYTES) continue;
    const skipped = isCut ? 0 : first + 1;
    const from = start + skipped;
    return { ...split(buffer.subarray(skipped), from), earlier: earlierThan(printed, from) };
  }
}

/** Where the last whole line in front of an offset ends. */
function lineEnd(printed: Printed, offset: number, { ended }: { ended: boolean }): number {
  if (ended) return offset;
  for (let from = offset; from > 0 && offset - from < MAX_LINE_BYTES; ) {
    const start = Math.max(0, from - DEFAULT_BYTES);
    const last = printed.bytes(start, from).lastIndexOf(LINE_FEED);
    if (last >= 0) return start + last + 1;
    from = start;
  }
  return 0;
}

function earlierThan(printed: Printed, from: number): Line[] {
  const start = Math.max(0, from - LOOK_BEHIND_BYTES);
  return split(printed.bytes(start, from), start).lines;
}

function bytesOf(fd: number, from: number, to: number): Buffer {
  const buffer = Buffer.allocUnsafe(Math.max(0, to - from));
  let count = 0;
  while (count < buffer.length) {
    const read = readSync(fd, buffer, count, buffer.length - count, from + count);
    if (read === 0) break;
    count += read;
  }
  return buffer.subarray(0, count);
}

function split(buffer: Buffer, from: number): { from: number; to: number; lines: Line[] } {
  const lines: Line[] = [];
  for (let at = 0; at < buffer.length; ) {
    const found = buffer.indexOf(LINE_FEED, at);
    const end = found < 0 ? buffer.length : found;
    lines.push({ at: from + at, text: buffer.toString('utf8', at, end) });
    at = end + 1;
  }
  return { from, to: from + buffer.length, lines };
}
