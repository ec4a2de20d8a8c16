import {
  closeSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { ifPossible } from '../machine/files/read-and-remove-files.ts';
import type { Layout } from './state-paths-and-read-plans.ts';

const HEAD = 'signalbox finished plans, version 3: ';
const HEAD_BYTES = 96;
/** Offset of the time at which all plans in the file were last checked. The part before it (count, pid, time of writing) identifies the file. */
const CHECKED_AT = 80;
const CHECKED_BYTES = HEAD_BYTES - CHECKED_AT - 1;
/** Of the checksum before the ids of tickets. */
const CHECKSUM_BYTES = 16;
/** A change of a finished plan is noticed within this time. */
const TRUSTED_MS = 60_000;
/** Numbers per stamp: inode, size, mtime, ctime. */
const STAMP_NUMBERS = 4;
/** A file that was written so recently may be written again with the same times; longer ago where times are whole seconds. */
const UNSETTLED_MS = 100;
const UNSETTLED_SECONDS_MS = 2_500;
/** Reading fewer plans again is faster than writing the file. */
const MANY_UNNOTED = 50;

/**
 * The names of finished plans, and what their plan.json had when they were last read: its stamp, and the ids of the tickets. They are
 * noted in a file, so that the next process reads only plans whose stamp differs. Nothing else depends on that file: it may be missing, torn or old, and two
 * processes may write it in turn.
 */
export class FinishedPlans {
  readonly #path: string;
  /** By id, its place among the stamps. */
  readonly #places = new Map<string, number>();
  /** The same of plans that the file names. */
  #noted = new Map<string, number>();
  /** One array: thousands of small objects would slow down short commands. */
  #stamps = new Float64Array();
  #used = 0;
  /** By place, the ids of the plan's tickets; those from the file are decoded when they are asked for. */
  readonly #ticketIds = new Map<number, string>();
  #encodedIds: Buffer | undefined;
  #checked = Number.NaN;
  /** The head of the file that `#noted` is about, without the time of the check. */
  #head: string | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#load();
  }

  /** Whether some process has checked all plans in the file a moment ago, and has not found or made a change since. */
  wasChecked(now: number): boolean {
    return this.#checked <= now && now - this.#checked < TRUSTED_MS;
  }

  /** Whether the file says that a plan is finished, and it has not changed since. Without `stat` the file is trusted. */
  confirm(id: string, stat: ((id: string) => Stats | undefined) | undefined): boolean {
    const place = this.#noted.get(id);
    const isKnown = place !== undefined && (!stat || this.#isAt(place, stat(id)));
    if (isKnown) this.#places.set(id, place);
    return isKnown;
  }

  has(id: string): boolean {
    return this.#places.has(id);
  }

  ids(): Iterable<string> {
    return this.#places.keys();
  }

  isSame(id: string, stat: Stats | undefined): boolean {
    const place = this.#places.get(id);
    return place !== undefined && this.#isAt(place, stat);
  }

  set(id: string, stat: Stats | undefined, ticketIds: string): void {
    if (this.isSame(id, stat)) return;
    const at = this.#used * STAMP_NUMBERS;
    if (at >= this.#stamps.length) {
      const larger = new Float64Array(Math.max(64, 2 * at));
      larger.set(this.#stamps);
      this.#stamps = larger;
    }
    this.#stamps.set(stat ? [stat.ino, stat.size, stat.mtimeMs, stat.ctimeMs] : NO_STAMP, at);
    this.#ticketIds.set(this.#used, ticketIds);
    this.#places.set(id, this.#used);
    this.#used += 1;
  }

  /** The ids of a plan's tickets, with spaces between them; undefined where the file has lost them. */
  ticketIds(id: string): string | undefined {
    this.#decodeIds();
    return this.#ticketIds.get(this.#places.get(id) ?? -1);
  }

  delete(id: string): boolean {
    return this.#places.delete(id);
  }

  since(time: number, most = Number.POSITIVE_INFINITY): string[] {
    const latest: { id: string; at: number }[] = [];
    let from = time;
    for (const [id, place] of this.#places) {
      const at = this.#stamps[place * STAMP_NUMBERS + 2] ?? Number.NaN;
      if (!(at >= from)) continue;
      latest.push({ id, at });
      if (latest.length <= 10 * most) continue;
      keepLatest(latest, most);
      from = latest.at(-1)?.at ?? from;
    }
    keepLatest(latest, most);
    return latest.map(({ id }) => id);
  }

  /**
   * Records a check of all plans. The file is written anew once many were found to be finished that it does not name, and where
   * it names others or another process wrote it.
   */
  recordCheck(began: number, belongsInFile: (id: string) => boolean): void {
    const now = Date.now();
    const isOld = (ms: number) => now - ms > (ms % 1000 === 0 ? UNSETTLED_SECONDS_MS : UNSETTLED_MS);
    const isSettled = (place: number) =>
      isOld(this.#stamps[place * STAMP_NUMBERS + 2] ?? now) &&
      isOld(this.#stamps[place * STAMP_NUMBERS + 3] ?? now);
    const isNew = (id: string, place: number) =>
      place !== this.#noted.get(id) && isSettled(place) && belongsInFile(id);
    let fresh = 0;
    for (const [id, place] of this.#places) if (isNew(id, place)) fresh += 1;
    if (fresh < MANY_UNNOTED && !this.#head) return;
    const isStale = [...this.#noted.keys()].some((id) => !this.#places.has(id));
    if (fresh < MANY_UNNOTED && !isStale && writeChecked(this.#path, began, this.#head)) return;
    const isWhole = (id: string) => this.ticketIds(id) !== undefined;
    const known = [...this.#places].filter(
      ([id, place]) => isSettled(place) && belongsInFile(id) && isWhole(id),
    );
    const stamps = new Float64Array(known.length * STAMP_NUMBERS);
    for (const [at, [, place]] of known.entries())
      stamps.set(
        this.#stamps.subarray(place * STAMP_NUMBERS, (place + 1) * STAMP_NUMBERS),
        at * STAMP_NUMBERS,
      );
    const head = `${HEAD}${known.length} ${process.pid} ${now}`.padEnd(CHECKED_AT);
    const names = known.map(([id]) => id).join('\n');
    const ticketIds = Buffer.from(known.map(([id]) => this.ticketIds(id)).join('\n'));
    const temporary = `${this.#path}.${process.pid}.tmp`;
    try {
      const parts = [
        Buffer.from(`${head}${checkedText(began)}\n`),
        new Uint8Array(stamps.buffer),
        Buffer.from(`${names}\0${checksum(ticketIds).padEnd(CHECKSUM_BYTES)}`),
        ticketIds,
      ];
      writeFileSync(temporary, Buffer.concat(parts), { mode: 0o600 });
      renameSync(temporary, this.#path);
      this.#noted = new Map(known);
      this.#head = head;
    } catch {
      // A full or read-only disk: the next process has to read them, too.
      rmSync(temporary, { force: true });
    }
  }

  #isAt(place: number, stat: Stats | undefined): boolean {
    const at = place * STAMP_NUMBERS;
    return (
      stat !== undefined &&
      this.#stamps[at] === stat.ino &&
      this.#stamps[at + 1] === stat.size &&
      this.#stamps[at + 2] === stat.mtimeMs &&
      this.#stamps[at + 3] === stat.ctimeMs
    );
  }

  /** Only few commands need them. A file that was damaged is deleted, so that the next process writes it anew. */
  #decodeIds(): void {
    const bytes = this.#encodedIds;
    if (!bytes) return;
    this.#encodedIds = undefined;
    const encoded = bytes.subarray(CHECKSUM_BYTES);
    const isWhole = bytes.toString('latin1', 0, CHECKSUM_BYTES).trim() === checksum(encoded);
    if (!isWhole) rmSync(this.#path, { force: true });
    else
      for (const [place, ids] of encoded.toString('utf8').split('\n').entries())
        this.#ticketIds.set(place, ids);
  }

  #load(): void {
    const bytes = ifPossible(() => readFileSync(this.#path));
    if (!bytes) return;
    const head = bytes.toString('latin1', 0, HEAD_BYTES);
    const count = head.startsWith(HEAD) ? Number.parseInt(head.slice(HEAD.length), 10) : Number.NaN;
    const end = HEAD_BYTES + count * STAMP_NUMBERS * Float64Array.BYTES_PER_ELEMENT;
    const endOfNames = count > 0 && end < bytes.length ? bytes.indexOf(0, end) : -1;
    const names = endOfNames < 0 ? [] : bytes.toString('utf8', end, endOfNames).split('\n');
    if (names.length !== count) return;
    this.#encodedIds = bytes.subarray(endOfNames + 1);
    this.#head = head.slice(0, CHECKED_AT);
    this.#checked = Number.parseInt(head.slice(CHECKED_AT), 10);
    this.#stamps = new Float64Array(count * STAMP_NUMBERS);
    new Uint8Array(this.#stamps.buffer).set(bytes.subarray(HEAD_BYTES, end));
    this.#used = count;
    for (let at = 0; at < count; at += 1) this.#noted.set(names[at] as string, at);
  }
}

/** Called before a finished plan is changed, so that the next command checks them all. */
export function distrustFinishedIndex({ finishedIndex }: Layout): void {
  writeChecked(finishedIndex, undefined);
}

/** Writes the time of a check into the file; with `head` only if the file still begins with it. */
function writeChecked(path: string, at: number | undefined, head?: string): boolean {
  let file: number | undefined;
  try {
    file = openSync(path, 'r+');
    const found = Buffer.alloc(CHECKED_AT);
    readSync(file, found, 0, CHECKED_AT, 0);
    const isSameFile = head === undefined || found.toString('latin1') === head;
    if (isSameFile) writeSync(file, checkedText(at), CHECKED_AT);
    return isSameFile;
  } catch {
    // There is no such file, or the disk is read-only: the next process checks the plans, too.
    return false;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function checkedText(at: number | undefined): string {
  return `${at ?? '-'}`.padEnd(CHECKED_BYTES);
}

/** FNV-1a: loading `node:crypto` takes longer. */
function checksum(bytes: Uint8Array): string {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16);
}

const NO_STAMP = [Number.NaN, Number.NaN, Number.NaN, Number.NaN];

function keepLatest(plans: { id: string; at: number }[], most: number): void {
  plans.sort((a, b) => b.at - a.at).splice(most);
}
