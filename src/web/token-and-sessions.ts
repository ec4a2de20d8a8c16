import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from '../machine/files/make-directory-and-handle-storage-errors.ts';
import { writeAtomic } from '../machine/files/write-atomic-and-note-facts.ts';

/** A session ends after this time, and with the next token. */
export const SESSION_SECONDS = 30 * 86_400;
const TOKEN = /^[\w-]{40,100}$/;
const SESSION = /^([\w-]{22}\.[0-9a-z]{1,12})\.([\w-]{43})$/;

export function tokenFile(home: string): string {
  return join(home, 'web-token');
}

/** Writes a new token. All sessions were signed with the old one, so they end. */
export function replaceToken(home: string): string {
  const token = randomBytes(32).toString('base64url');
  makeDirectory(home);
  writeAtomic(tokenFile(home), `${token}\n`);
  return token;
}

/**
 * The token of a home, read again when its file has changed. A file that is missing, unusable or that others can read gets
 * a new token.
 */
export class TokenKeeper {
  readonly #home: string;
  #stamp = '';
  #token = '';

  constructor(home: string) {
    this.#home = home;
  }

  current(): string {
    const stamp = this.#stampNow();
    if (stamp === this.#stamp && this.#token) return this.#token;
    this.#token = this.#read() ?? replaceToken(this.#home);
    this.#stamp = this.#stampNow();
    return this.#token;
  }

  accepts(given: string): boolean {
    return isSame(given, this.current());
  }

  /** A new session id. Its signature is made with the token, so that no list of sessions has to be kept. */
  openSession(nowMs: number): string {
    const id = `${randomBytes(16).toString('base64url')}.${Math.floor(nowMs / 1000).toString(36)}`;
    return `${id}.${this.#sign(id)}`;
  }

  hasSession(value: string | undefined, nowMs: number): boolean {
    const [, id, signature] = SESSION.exec(value ?? '') ?? [];
    if (id === undefined || signature === undefined || !isSame(signature, this.#sign(id))) return false;
    const age = nowMs / 1000 - Number.parseInt(id.split('.')[1] ?? '', 36);
    return age > -60 && age < SESSION_SECONDS;
  }

  #sign(id: string): string {
    return createHmac('sha256', this.current()).update(`session ${id}`).digest('base64url');
  }

  #stampNow(): string {
    const found = statSync(tokenFile(this.#home), { throwIfNoEntry: false });
    return found ? `${found.ino} ${found.size} ${found.mtimeMs} ${found.mode}` : '';
  }

  #read(): string | undefined {
    const file = tokenFile(this.#home);
    const found = statSync(file, { throwIfNoEntry: false });
    if (!found?.isFile() || (found.mode & 0o077) !== 0) return undefined;
    const token = readFileSync(file, 'utf8').trim();
    return TOKEN.test(token) ? token : undefined;
  }
}

/** Compares in a time that does not depend on where the texts differ. */
function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
