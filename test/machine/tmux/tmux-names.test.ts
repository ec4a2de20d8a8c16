import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { socketOf, tmuxOff } from '../../../src/machine/tmux/run-tmux.ts';
import {
  exactSession,
  literal,
  renamedText,
  sessionName,
  tmuxWord,
  windowName,
} from '../../../src/machine/tmux/tmux-names-and-escapes.ts';

describe('the name of a session', () => {
  it.each([
    ['sequential-auth', 'sequential-auth'],
    ['v1.2', 'v1_2'],
    ['a:b.c', 'a_b_c'],
    ['my spec', 'my-spec'],
    ['--odd--', 'odd'],
    ['#(touch x)', 'touch-x'],
    ['=$0', '0'],
    ['имя', 'имя'],
    ['Cafe\u0301', 'Caf\u00e9'],
    ['', 'signalbox'],
    ['///', 'signalbox'],
    ['x'.repeat(200), 'x'.repeat(80)],
  ])('%j is %j', (text, name) => {
    expect(sessionName(text)).toBe(name);
  });

  it('is told where it is not the one that was asked for', () => {
    expect(renamedText('my-session_1')).toBeUndefined();
    expect(renamedText('my.sess')).toBe('the session is called my_sess: tmux cannot have "my.sess"');
  });

  it('never means anything to tmux, and stays what it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const name = sessionName(text);
        expect(name).toMatch(/^[\p{L}\p{N}_][\p{L}\p{N}_-]*$/u);
        expect(sessionName(name)).toBe(name);
      }),
    );
  });

  it('is asked for exactly', () => {
    expect(exactSession('foo')).toBe('=foo:');
    expect(windowName('1.1')).toBe('task-1.1');
  });
});

describe('words for tmux', () => {
  it.each([
    ['plain', 'plain'],
    [';', '\\;'],
    ['a;', 'a\\;'],
    ['a;b', 'a;b'],
  ])('%j goes in as %j', (text, expected) => {
    expect(tmuxWord(text)).toBe(expected);
  });

  it('have no formats where tmux would fill them in', () => {
    expect(literal('#(id) #S;')).toBe('##(id) ##S\\;');
  });
});

describe('variables', () => {
  it.each([
    ['1', true],
    ['TRUE', true],
    [' yes ', true],
    ['on', true],
    ['0', false],
    ['no', false],
    ['', false],
    [undefined, false],
  ])('CODEAGENT_NO_TMUX=%j: off is %j', (value, off) => {
    expect(tmuxOff({ CODEAGENT_NO_TMUX: value })).toBe(off);
  });

  it.each([
    ['/tmp/tmux-0/default,123,0', '/tmp/tmux-0/default'],
    ['/tmp/a,b/default,123,0', '/tmp/a,b/default'],
    ['', undefined],
    [undefined, undefined],
  ])('TMUX=%j is the server %j', (value, socket) => {
    expect(socketOf({ TMUX: value })).toBe(socket);
  });
});
