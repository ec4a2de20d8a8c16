import { existsSync, statSync } from 'node:fs';
import { writeAtomic } from '../machine/files/atomic.ts';
import { stateText } from '../machine/files/state-text.ts';
import type { Layout } from './layout.ts';

/** Where a plan's latest run shows itself. */
export interface TmuxRecord {
  session: string;
  /** Path of the tmux server's socket. */
  socket: string;
}

export function writeTmuxRecord(layout: Layout, planId: string, record: TmuxRecord): void {
  writeAtomic(layout.tmux(planId), `${JSON.stringify({ schema: 1, ...record }, null, 2)}\n`);
}

/** Undefined when there is none, or none that can be used: it only says where to look. */
export function readTmuxRecord(layout: Layout, planId: string): TmuxRecord | undefined {
  const file = layout.tmux(planId);
  if (!existsSync(file)) return undefined;
  const { session, socket } = fieldsOf(file);
  return session && socket ? { session, socket } : undefined;
}

/** Of these plans, the one whose run was shown last. */
export function latestShown(layout: Layout, planIds: readonly string[]): string | undefined {
  const time = (planId: string) => statSync(layout.tmux(planId), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return planIds.filter((planId) => readTmuxRecord(layout, planId)).sort((a, b) => time(b) - time(a))[0];
}

function fieldsOf(file: string): Record<string, string | undefined> {
  try {
    const entries = Object.entries((JSON.parse(stateText(file)) as Record<string, unknown> | null) ?? {});
    return Object.fromEntries(
      entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    );
  } catch {
    // A file that somebody spoilt is as good as none.
    return {};
  }
}
