import { randomUUID } from 'node:crypto';
import { type FSWatcher, readdirSync, watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Changed, refKey, type StateRef } from '../model/ids.ts';

export interface PlanWatch {
  /** Reports a change that was noticed in another way. */
  report(changed: StateRef | 'unknown'): void;
  close(): void;
}

type Kind = 'root' | 'plan' | 'tickets';

/**
 * Watches the directories that planners and people write to: plans/, each plan, each tickets/.
 * Changes that this process made itself (`own`) are not reported; bursts are reported once.
 */
export function watchPlans(
  root: string,
  own: (path: string) => boolean,
  onChange: (changed: Changed) => void,
): PlanWatch {
  const watchers = new Map<string, FSWatcher>();
  const pending = new Map<string, StateRef>();
  let isKnown = true;
  let timer: NodeJS.Timeout | undefined;
  const report = (changed: StateRef | 'unknown') => {
    if (changed === 'unknown') isKnown = false;
    else pending.set(keyOf(changed), changed);
    timer ??= setTimeout(() => {
      timer = undefined;
      const all = isKnown ? [...pending.values()] : 'unknown';
      pending.clear();
      isKnown = true;
      refresh();
      onChange(all);
    }, 5);
  };
  const follow = (dir: string, kind: Kind) => {
    if (watchers.has(dir)) return;
    try {
      const watcher = watch(dir, { persistent: false }, (_event, name) => {
        // A directory that was replaced needs a new watch: the old one follows the old directory.
        if (kind === 'root' && name !== null) {
          drop(join(dir, name));
          drop(join(dir, name, 'tickets'));
        }
        if (kind === 'plan' && name === 'tickets') drop(join(dir, name));
        const isState = kind === 'root' || name === null || name.endsWith('.json') || name === 'tickets';
        if (isState && !(name !== null && kind !== 'root' && own(join(dir, name))))
          report(changedBy(dir, kind, name));
      });
      watcher.on('error', () => drop(dir));
      watchers.set(dir, watcher);
    } catch {
      // The directory went away, or the system has no watches left: the engine's timer still finds changes.
      drop(dir);
    }
  };
  const drop = (dir: string) => {
    watchers.get(dir)?.close();
    watchers.delete(dir);
  };
  const refresh = () => {
    follow(root, 'root');
    const present = new Set<string>([root]);
    for (const entry of list(root)) {
      const plan = join(root, entry);
      const tickets = join(plan, 'tickets');
      present.add(plan).add(tickets);
      follow(plan, 'plan');
      follow(tickets, 'tickets');
    }
    for (const dir of watchers.keys()) if (!present.has(dir)) drop(dir);
  };
  refresh();
  const close = () => {
    if (timer) clearTimeout(timer);
    for (const dir of [...watchers.keys()]) drop(dir);
  };
  return { report, close };
}

/** The plan or ticket of an entry in a watched directory. A replaced `tickets/` may hold other tickets altogether. */
function changedBy(dir: string, kind: Kind, name: string | null): StateRef | 'unknown' {
  if (name === null || (kind === 'plan' && name === 'tickets')) return 'unknown';
  if (kind === 'root') return { planId: name, ticketId: null };
  if (kind === 'plan') return { planId: basename(dir), ticketId: null };
  return { planId: basename(dirname(dir)), ticketId: name.replace(/\.json$/, '') };
}

function list(root: string): string[] {
  try {
    return readdirSync(root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch {
    return [];
  }
}

/** Numbers changes, so that a reader can ask for those since its last question. */
export class ChangeLog {
  /** Made with the first cursor: loading `node:crypto` costs a short command several milliseconds. */
  #id: string | undefined;
  readonly #last = new Map<string, { ref: StateRef; at: number }>();
  #count = 0;

  note(ref: StateRef): void {
    const { planId, ticketId } = ref;
    this.#last.set(keyOf(ref), { ref: { planId, ticketId }, at: ++this.#count });
  }

  since(cursor: string | undefined): { changed: Changed; cursor: string } {
    this.#id ??= randomUUID();
    const [id, count] = cursor?.split(' ') ?? [];
    const from = id === this.#id ? Number(count) : undefined;
    const newer = [...this.#last.values()].filter(({ at }) => from !== undefined && at > from);
    newer.sort((a, b) => a.at - b.at);
    return {
      changed: from === undefined ? 'unknown' : newer.map(({ ref }) => ref),
      cursor: `${this.#id} ${this.#count}`,
    };
  }
}

export function keyOf({ planId, ticketId }: StateRef): string {
  return ticketId === null ? planId : refKey({ planId, ticketId });
}
