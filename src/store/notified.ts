import { appendFileSync, existsSync } from 'node:fs';
import { makeDirectory } from '../machine/files/directory.ts';
import { stateText } from '../machine/files/state-text.ts';
import { withLock } from '../machine/lock.ts';
import { isAlive, ownIdentity, type ProcessIdentity } from '../machine/process-identity.ts';
import type { Layout } from './layout.ts';

export interface Wanted {
  /** Names what happened, once and for all. */
  key: string;
  /** Where it is to be told. */
  place: string;
  /** When it happened. */
  since: string;
}

interface Line {
  place: string;
  at: string;
  /** What happened before this counts as known at the place. */
  began?: string;
  key?: string;
  state?: 'sending' | 'sent' | 'failed';
  by?: ProcessIdentity;
}

/** On another host nobody can see whether the sender lives; after this long it does not. */
const FORGOTTEN_MS = 10 * 60_000;

/** Who has told what, of one plan: so that nothing is told twice, whoever restarts or works beside us. */
export class Notified {
  readonly #layout: Layout;
  readonly #now: () => string;

  constructor(layout: Layout, now: () => string) {
    this.#layout = layout;
    this.#now = now;
  }

  /** Takes upon us what nobody has told yet. `start`: at a place that is new, only what came after it is told. */
  claim(
    planId: string,
    wish: { places: readonly string[]; wanted: readonly Wanted[]; start: string },
  ): Promise<Wanted[]> {
    return this.#alone(planId, () => {
      const lines = this.#read(planId);
      const fresh: Line[] = [];
      for (const place of wish.places)
        if (!lines.some((line) => line.place === place && line.began !== undefined))
          fresh.push({ place, at: this.#now(), began: wish.start });
      const known = [...lines, ...fresh];
      const mine = wish.wanted.filter((wanted) => isOpen(wanted, known, this.#now()));
      for (const { key, place } of mine)
        fresh.push({ place, key, state: 'sending', by: ownIdentity(), at: this.#now() });
      this.#append(planId, fresh);
      return mine;
    });
  }

  end(
    planId: string,
    { key, place }: Pick<Wanted, 'key' | 'place'>,
    state: 'sent' | 'failed',
  ): Promise<void> {
    return this.#alone(planId, () => this.#append(planId, [{ place, key, state, at: this.#now() }]));
  }

  #alone<T>(planId: string, fn: () => T): Promise<T> {
    makeDirectory(this.#layout.locks);
    return withLock(this.#layout.lock(`${planId}+notified`), fn);
  }

  #read(planId: string): Line[] {
    const file = this.#layout.notified(planId);
    if (!existsSync(file)) return [];
    return stateText(file)
      .split('\n')
      .flatMap((line) => parse(line) ?? []);
  }

  /** A line break first: half a line that a crash left must not swallow the next one. */
  #append(planId: string, lines: readonly Line[]): void {
    if (lines.length === 0) return;
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    appendFileSync(this.#layout.notified(planId), `\n${text}`, { mode: 0o600 });
  }
}

function parse(line: string): Line | undefined {
  try {
    return line === '' ? undefined : (JSON.parse(line) as Line);
  } catch {
    return undefined;
  }
}

function isOpen(wanted: Wanted, lines: readonly Line[], now: string): boolean {
  const own = lines.filter(({ place }) => place === wanted.place);
  const began = own.find((line) => line.began !== undefined)?.began;
  if (began !== undefined && wanted.since < began) return false;
  const last = own.findLast(({ key }) => key === wanted.key);
  if (!last) return true;
  if (last.state !== 'sending' || !last.by) return false;
  const alive = isAlive(last.by);
  return alive === undefined ? Date.parse(now) - Date.parse(last.at) > FORGOTTEN_MS : !alive;
}
