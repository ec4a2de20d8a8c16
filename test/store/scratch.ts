import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openStore } from '../../src/store/open-file-store-with-schemas.ts';

/** A directory that is gone after the test. */
export function scratch(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'store-')));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A state directory as planners and people write to it: with no store in between. */
export class State {
  readonly dir = scratch();
  readonly store = openStore(this.dir);

  path(...parts: string[]): string {
    return join(this.dir, 'plans', ...parts);
  }

  /** Writes a file in one go, as a careful editor does; objects as JSON. */
  write(path: string, content: unknown): string {
    const file = this.path(path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}~`, typeof content === 'string' ? content : JSON.stringify(content));
    renameSync(`${file}~`, file);
    return file;
  }

  plan(id: string, tickets: string[] = ['t'], more: Record<string, unknown> = {}): void {
    for (const ticketId of tickets) this.ticket(id, ticketId);
    const entries = tickets.map((ticketId) => ({ ticketId }));
    this.write(`${id}/plan.json`, { id, status: 'active', tickets: entries, ...more });
  }

  ticket(planId: string, ticketId: string, more: Record<string, unknown> = {}): string {
    return this.write(`${planId}/tickets/${ticketId}.json`, { planId, ticketId, title: 'T', ...more });
  }
}
