import { createHmac, randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { Settings } from '../config/settings-table.ts';
import { ifPossible } from '../machine/files/read-and-remove-files.ts';
import { writeAtomic } from '../machine/files/write-atomic-and-note-facts.ts';
import { REDACTED, type Redact, redactor, secretValues } from '../model/text/find-and-redact-secrets.ts';

/** What is kept instead of secrets: enough to recognise one in a text. */
interface Kept {
  salt: string;
  /** `<length>.<rolling hash>.<hash>`, the latest last. */
  prints: string[];
}

const MAX_FINGERPRINTS = 500;
const PRINT = /^(\d+)\.(-?\d+)\.([0-9a-f]{32})$/;

/** Remembers the fingerprints of what jobs are given, for readers who are not given the same. */
export function fingerprintKeeper(file: string, secrets: () => readonly string[]): () => void {
  let values: readonly string[] | undefined;
  let seen: string | null | undefined;
  // Cheap when nothing has changed. Another engine may have replaced the file meanwhile.
  return () => {
    values ??= secrets();
    if (values.length === 0 || seen === stampOf(file)) return;
    const { salt, prints } = read(file) ?? { salt: randomBytes(16).toString('hex'), prints: [] };
    const own = values.map((value) => printOf(value, salt));
    const known = new Set(prints);
    if (own.some((print) => !known.has(print))) {
      const all = [...new Set([...prints, ...own])].slice(-MAX_FINGERPRINTS);
      writeAtomic(file, `${JSON.stringify({ salt, prints: all }, null, 2)}\n`);
    }
    seen = stampOf(file);
  };
}

/** Interval at which the file is read again; shorter than the pause between two requests for lines. */
const FRESH_MS = 50;

/** Hides what has a fingerprint in the file, also when it comes there later. */
export function fingerprintRedactor(file: string): Redact {
  let looked = Number.NEGATIVE_INFINITY;
  let stamp: string | null | undefined;
  let redact: Redact = (text) => text;
  return (text) => {
    if (performance.now() - looked > FRESH_MS) {
      looked = performance.now();
      const latest = stampOf(file);
      if (latest !== stamp) redact = redactorFor(read(file));
      stamp = latest;
    }
    return redact(text);
  };
}

function redactorFor(kept: Kept | undefined): Redact {
  if (!kept || kept.prints.length === 0) return (text) => text;
  const factor = factorOf(kept.salt);
  const byLength = new Map<number, Map<number, Set<string>>>();
  for (const print of kept.prints) {
    const [, length = '', rolling = '', hash = ''] = PRINT.exec(print) ?? [];
    const found = byLength.get(Number(length)) ?? new Map<number, Set<string>>();
    const hashes = found.get(Number(rolling)) ?? new Set();
    byLength.set(Number(length), found.set(Number(rolling), hashes.add(hash)));
  }
  return (text) => {
    const ranges: [number, number][] = [];
    for (const [length, wanted] of byLength)
      for (const { at, hash } of places(text, length, factor, wanted))
        if (wanted.get(hash)?.has(hashOf(text.slice(at, at + length), kept.salt)))
          ranges.push([at, at + length]);
    return without(text, ranges);
  };
}

/** Where a piece of this length might be one that is wanted. */
function places(
  text: string,
  length: number,
  factor: number,
  wanted: { has(hash: number): boolean },
): { at: number; hash: number }[] {
  const found: { at: number; hash: number }[] = [];
  let top = 1;
  for (let i = 1; i < length; i++) top = Math.imul(top, factor);
  let hash = 0;
  for (let i = 0; i < text.length; i++) {
    if (i >= length) hash = (hash - Math.imul(text.charCodeAt(i - length), top)) | 0;
    hash = (Math.imul(hash, factor) + text.charCodeAt(i)) | 0;
    if (i >= length - 1 && wanted.has(hash)) found.push({ at: i - length + 1, hash });
  }
  return found;
}

function without(text: string, ranges: [number, number][]): string {
  if (ranges.length === 0) return text;
  let clean = '';
  let from = 0;
  for (const [start, end] of ranges.sort((a, b) => a[0] - b[0] || b[1] - a[1])) {
    if (end <= from) continue;
    // One that begins inside another is hidden with it.
    clean += start < from ? '' : text.slice(from, start) + REDACTED;
    from = end;
  }
  return clean + text.slice(from);
}

function printOf(value: string, salt: string): string {
  const [place] = places(value, value.length, factorOf(salt), { has: () => true });
  return `${value.length}.${place?.hash ?? 0}.${hashOf(value, salt)}`;
}

function hashOf(value: string, salt: string): string {
  return createHmac('sha256', salt).update(value).digest('hex').slice(0, 32);
}

function factorOf(salt: string): number {
  return Number.parseInt(salt.slice(0, 8), 16) | 1;
}

function stampOf(file: string): string | null {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat ? `${stat.ino} ${stat.mtimeMs} ${stat.size}` : null;
}

/** What is missing, or not readable as fingerprints, is created again. */
function read(file: string): Kept | undefined {
  const { salt, prints } = ifPossible(() => JSON.parse(readFileSync(file, 'utf8')) as Partial<Kept>) ?? {};
  if (typeof salt !== 'string' || !/^[0-9a-f]{32}$/.test(salt) || !Array.isArray(prints)) return undefined;
  return { salt, prints: prints.filter((each) => typeof each === 'string' && PRINT.test(each)) };
}

type Given = Pick<Settings, 'agents' | 'mcpServers'>;
type Environment = Readonly<Record<string, string | undefined>>;

/** Hides the secrets of an environment and of what the settings give to agents and servers. */
export function redactorOf(settings: Given, env: Environment): Redact {
  return redactor(secretsOf(settings, env));
}

/** The same for a process that reads the output of jobs and was not given their secrets. */
export function readerRedactor(settings: Given, env: Environment, file: string): Redact {
  const own = redactorOf(settings, env);
  const others = fingerprintRedactor(file);
  return (text) => own(others(text));
}

/** Called before a job is started: its secrets must be recognised in what it prints. */
export function secretKeeper(settings: Given, env: Environment, file: string): () => void {
  return fingerprintKeeper(file, () => secretsOf(settings, env));
}

function secretsOf({ agents, mcpServers }: Given, env: Environment): string[] {
  const given = [...Object.values(agents), ...Object.values(mcpServers)].map((each) => each.env);
  return secretValues(env, given);
}
