import { spawn } from 'node:child_process';
import { describe, expect } from 'vitest';
import { forTerminal } from '../../src/cli/terminal.ts';
import { BUILD, CLI, DONE, it, STUCK, setUp, type World } from './support.ts';

/** Starts a command, reads until there is something to read, and then reads no more. */
function cutOff(world: World, args: string[]): Promise<{ code: number | null; err: string; first: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [CLI, ...args], { cwd: world.dir, env: world.env });
    let err = '';
    let first = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    child.stdout.setEncoding('utf8').once('data', (text: string) => {
      first = text.split('\n')[0] ?? '';
      child.stdout.destroy();
    });
    child.once('error', reject);
    child.once('exit', (code) => resolve({ code, err, first }));
  });
}

describe.concurrent('output that is piped', () => {
  it('has neither colours nor carriage returns, in any command', async ({ world }) => {
    setUp(world, 'commit', { a: {}, b: { blockedBy: ['a'] } });
    world.plan('q', { status: 'draft', tickets: { c: {} } });
    const commands = [
      ['run', 'p', '--verbose'],
      ['status'],
      ['status', '--plan', 'p'],
      ['logs', 'p'],
      ['logs', 'p', 'a'],
      ['sessions', 'p', 'a'],
      ['plan', 'list'],
      ['plan', 'show', 'p'],
      ['plan', 'check', 'q'],
      ['workflow', 'graph', 'work'],
      ['doctor'],
      ['plan', 'show', 'nothing'],
    ];
    for (const args of commands) {
      const { out, err } = await world.cli(...args);
      expect(out + err, args.join(' ')).not.toBe('');
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
      expect(out + err, args.join(' ')).not.toMatch(/[\u001b\r]/);
    }
  });

  it('may be cut off by whoever reads it', async ({ world }) => {
    const many = Array.from({ length: 450 }, (_, index) => [`ticket-${index}`, { title: 'x'.repeat(60) }]);
    setUp(world, 'commit', Object.fromEntries(many));
    for (const args of [['status'], ['status', '--json']]) {
      const { code, err, first } = await cutOff(world, args);
      expect({ code, err }, args.join(' ')).toEqual({ code: 0, err: '' });
      expect(first).not.toBe('');
    }
  });

  it('does not end a run when it is cut off: the work goes on to its end', async ({ world }) => {
    setUp(world, 'note started; commit', { a: {}, b: { blockedBy: ['a'] }, c: { blockedBy: ['b'] } });
    expect(await cutOff(world, ['run', 'p'])).toMatchObject({ code: 0, err: '' });
    for (const ticket of ['a', 'b', 'c']) expect(world.ticket('p', ticket).status).toBe('complete');
  });
});

describe('what reaches a terminal', () => {
  const table: [string, string, string][] = [
    [
      'our own colours',
      '\u001b[31mred\u001b[39m \u001b[2mdim\u001b[22m',
      '\u001b[31mred\u001b[39m \u001b[2mdim\u001b[22m',
    ],
    ['no cursor movement', 'a\u001b[2J\u001b[1;1Hb', 'a[2J[1;1Hb'],
    ['no window title', '\u001b]0;owned\u0007x', ']0;ownedx'],
    ['no hidden text', '\u001b[8msecret', '[8msecret'],
    ['no 8-bit controls', 'a\u009b31mb', 'a31mb'],
    ['no return to the start of the line', 'rm -rf /\rls', 'rm -rf /ls'],
    ['line ends and tabs', 'a\n\tb', 'a\n\tb'],
  ];

  for (const [what, text, shown] of table)
    it(`holds ${what}`, () => {
      expect(forTerminal(text, true)).toBe(shown);
    });

  it('has no colours at all when they are not wanted', () => {
    expect(forTerminal('\u001b[31mred\u001b[39m', false)).toBe('[31mred[39m');
  });
});

describe('verbose', () => {
  it('shows what agents say, one line each, with the ticket in front', async ({ world }) => {
    world.agent('agent', 'echo first thing; echo second thing; commit');
    world.workflow('work', [BUILD, DONE, STUCK]);
    world.plan('p', { tickets: { a: {} } });
    const { out } = await world.cli('run', 'p', '--verbose');
    expect(out).toMatch(/^ {2}a │ first thing\n {2}a │ second thing$/m);
    world.plan('q', { tickets: { b: {} } });
    expect((await world.cli('run', 'q')).out).not.toContain('first thing');
  });
});
