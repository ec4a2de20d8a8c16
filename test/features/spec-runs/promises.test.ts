import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/** What a run of a spec promises. The tests of each are in the groups that are named after its number. */
const CONTRACTS = [
  'two specs side by side do not mix, and one spec has one run at a time',
  'all forms of tasks.md are read, no task is an error, ticked ones are skipped',
  'twelve units with dots in their ids go through tmux, beside a session that begins with the same name',
  'success is neither an exit code nor a quoted signal',
  'failures are counted and told to the next attempt, and others may go on',
  'a run that is killed goes on without a second agent',
  'prompts arrive byte for byte with their environment, and a timeout leaves no process',
  'an assignment that does not fit is repaired or told, never stored in silence',
  'a usage limit is waited for and consumes no attempt',
  'a halted unit ends with 2 and goes on with an answer; the end has measured counts',
];

const groups = ['features/spec-runs', 'kiro', 'system']
  .map((room) => new URL(`../../${room}/`, import.meta.url))
  .flatMap((room) => readdirSync(room).flatMap((name) => (name.endsWith('.ts') ? [new URL(name, room)] : [])))
  .map((file) => readFileSync(file, 'utf8'))
  .flatMap((text) => [...text.matchAll(/describe[\w.]*(?:\(CLIS\))?\(\s*['`](contract [\d and]+):/g)])
  .flatMap(([, name = '']) => name.match(/\d+/g) ?? []);

describe('the contracts of spec runs', () => {
  it.each(CONTRACTS.map((text, index) => [index + 1, text] as const))('%i is tested: %s', (number) => {
    expect(groups).toContain(String(number));
  });

  it('are all that is tested under such a name', () => {
    expect(new Set(groups).size).toBe(CONTRACTS.length);
  });
});
