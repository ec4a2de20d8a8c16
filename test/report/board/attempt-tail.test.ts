import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { AttemptTail } from '../../../src/report/board/attempt-tail.ts';
import { outputInFiles } from '../../../src/report/find-attempt-output.ts';
import { attempt, NOW } from '../../model/build.ts';
import { it } from '../../support/index.ts';

const redact = (text: string) => text.replaceAll('hunter2', '[redacted]');
const RUNNING = attempt('implement', 'running', { agent: 'claude' });
const ENDED = attempt('implement', 'success', { agent: 'claude', completedAt: NOW });

function job(dir: string, adapter: string) {
  const place = join(dir, 'job');
  mkdirSync(place);
  writeFileSync(join(place, 'command.json'), JSON.stringify({ agent: { adapter } }));
  const print = (text: string) => appendFileSync(join(place, 'stdout'), text);
  return { print, tail: new AttemptTail(outputInFiles(place), { worktree: '/w', redact }), place };
}

const said = (...content: object[]) =>
  `${JSON.stringify({ type: 'assistant', message: { role: 'assistant', content } })}\n`;

describe('the end of what an attempt printed', () => {
  it('has the last thing that its agent said or did, without secrets', ({ world }) => {
    const { print, tail } = job(world.dir, 'claude');
    tail.update(RUNNING);
    expect([tail.action, tail.printedAt]).toEqual([null, null]);
    print(said({ type: 'text', text: 'The password is hunter2.' }));
    tail.update(RUNNING);
    expect(tail.action).toBe('The password is [redacted].');
    expect(tail.printedAt).toBeGreaterThan(0);
    print(said({ type: 'tool_use', id: 't', name: 'Bash', input: { command: 'npm test' } }));
    tail.update(RUNNING);
    expect(tail.action).toBe('Bash npm test');
    expect(tail.lines.join('\n')).toContain('The password is [redacted].');
    expect(tail.lines.at(-1)).toBe('▸ Bash npm test');
  });

  it('shows of a script the last line, and how it ended', ({ world }) => {
    const { print, tail } = job(world.dir, 'custom');
    const script = { ...RUNNING, agent: null };
    print('one\ntwo\n');
    tail.update(script);
    expect(tail.action).toBe('two');
    tail.update({ ...ENDED, agent: null });
    expect(tail.lines.slice(1)).toEqual(['one', 'two', '── success']);
    expect(tail.action).toBe('two');
  });

  it('reads of a long output only the end, from the beginning of a line', ({ world }) => {
    const { print, place } = job(world.dir, 'custom');
    print(`first one\n${'x'.repeat(99)}\n`.repeat(4000));
    print('last\n');
    const tail = new AttemptTail(outputInFiles(place), { worktree: null, redact });
    tail.update({ ...RUNNING, agent: null });
    expect(tail.lines).toHaveLength(200);
    expect(tail.lines.at(-1)).toBe('last');
    for (const line of tail.lines) expect(line).toMatch(/^(first one|x{99}|last)$/);
    print('more\n');
    tail.update({ ...RUNNING, agent: null });
    expect(tail.lines.slice(-2)).toEqual(['last', 'more']);
  });

  it('shows no line of a private key whose beginning it has not read', ({ world }) => {
    const { print, place } = job(world.dir, 'custom');
    print(
      `-----BEGIN PRIVATE KEY-----\n${`${'Ab0+'.repeat(16)}\n`.repeat(6000)}-----END PRIVATE KEY-----\nafter it\n`,
    );
    const tail = new AttemptTail(outputInFiles(place), { worktree: null, redact });
    tail.update({ ...RUNNING, agent: null });
    expect(tail.lines.at(-1)).toBe('after it');
    expect(tail.lines.join('\n')).not.toContain('Ab0+');
  });
});
