import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Changed, StateRef } from '../model/ids-and-branch-names.ts';
import { keyOf } from './numbered-changes.ts';

type Kind = 'root' | 'plan' | 'tickets';

/** Watches are scarce and other programs need some. The engine's timer finds changes in unwatched directories. */
const MAX_WATCHES = 900;
/** Plans that were finished last stay watched: a planner may add a ticket to one and open it again. */
const MAX_LEFT = 20;

interface WatchOptions {
  /** Whether this process made the last change of a file itself: that is not reported. */
  own(path: string): boolean;
  /** Bursts are reported once. */
  onChange(changed: Changed): void;
}

/** Watches the directories that planners and people write to: plans/, and of each plan that is followed its own and its tickets/. */
export class PlanWatch {
  readonly #root: string;
  readonly #options: WatchOptions;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #followed = new Set<string>();
  /** Those of them that were left, oldest first. */
  readonly #left = new Set<string>();
  readonly #pending = new Map<string, StateRef>();
  #isKnown = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(root: string, options: WatchOptions) {
    this.#root = root;
    this.#options = options;
    this.#watch(root, 'root');
  }

  /** May be called again: a directory that was not there, or not watched for another reason, is tried again. */
  follow(planId: string): void {
    this.#followed.add(planId);
    this.#left.delete(planId);
    this.#watchPlan(planId);
  }

  leave(planId: string): void {
    this.#left.add(planId);
    this.#endLeft(MAX_LEFT);
  }

  /** Reports a change that was noticed in another way. */
  report(changed: StateRef | 'unknown'): void {
    if (changed === 'unknown') this.#isKnown = false;
    else this.#pending.set(keyOf(changed), changed);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const all = this.#isKnown ? [...this.#pending.values()] : 'unknown';
      const plans = new Set([...this.#pending.values()].map(({ planId }) => planId));
      this.#pending.clear();
      this.#isKnown = true;
      this.#watch(this.#root, 'root');
      for (const planId of plans) if (this.#followed.has(planId)) this.#watchPlan(planId);
      this.#options.onChange(all);
    }, 5);
  }

  close(): void {
    if (this.#timer) clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #watchPlan(planId: string): void {
    const dir = join(this.#root, planId);
    const missing = [dir, join(dir, 'tickets')].filter((each) => !this.#watchers.has(each));
    if (missing.length === 0) return;
    if (this.#watchers.size + missing.length > MAX_WATCHES) this.#endLeft(0);
    if (this.#watchers.size + missing.length > MAX_WATCHES) return;
    for (const each of missing) this.#watch(each, each === dir ? 'plan' : 'tickets');
  }

  #endLeft(most: number): void {
    for (const planId of this.#left) {
      if (this.#left.size <= most) return;
      this.#left.delete(planId);
      this.#followed.delete(planId);
      this.#drop(planId);
    }
  }

  #watch(dir: string, kind: Kind): void {
    if (this.#watchers.has(dir)) return;
    try {
      const watcher = watch(dir, { persistent: false }, (_event, name) => this.#seen(dir, kind, name));
      watcher.on('error', () => this.#close(dir));
      this.#watchers.set(dir, watcher);
    } catch {
      // The directory went away, or the system has no watches left: the engine's timer still finds changes.
      this.#close(dir);
    }
  }

  #seen(dir: string, kind: Kind, name: string | null): void {
    // A directory that was replaced needs a new watch: the old one follows the old directory.
    if (kind === 'root' && name !== null) this.#drop(name);
    if (kind === 'plan' && name === 'tickets') this.#close(join(dir, name));
    const isState = kind === 'root' || name === null || name.endsWith('.json') || name === 'tickets';
    if (isState && !(name !== null && kind !== 'root' && this.#options.own(join(dir, name))))
      this.report(changedBy(dir, kind, name));
  }

  #drop(planId: string): void {
    const dir = join(this.#root, planId);
    this.#close(dir);
    this.#close(join(dir, 'tickets'));
  }

  #close(dir: string): void {
    this.#watchers.get(dir)?.close();
    this.#watchers.delete(dir);
  }
}

/** The plan or ticket of an entry in a watched directory. A replaced `tickets/` may hold other tickets altogether. */
function changedBy(dir: string, kind: Kind, name: string | null): StateRef | 'unknown' {
  if (kind === 'root') return name === null ? 'unknown' : { planId: name, ticketId: null };
  if (kind === 'plan') return { planId: basename(dir), ticketId: null };
  const planId = basename(dirname(dir));
  return { planId, ticketId: name === null ? null : name.replace(/\.json$/, '') };
}
