import { describe, expect, it } from 'vitest';
import { TmuxError } from '../../../src/machine/tmux/run-tmux.ts';
import { parseSession } from '../../../src/machine/tmux/session-windows-and-panes.ts';

describe('what tmux says of a session', () => {
  it('is its panes, ours with their tickets', () => {
    const text = [
      '/tmp/s|abc|1|%0|@0|0|0|-|signalbox',
      '/tmp/s|abc|1|%3|@2|1|1|p/1.1|task-1.1',
      '/tmp/s|abc|1|%4|@2|0|1||task-1.1',
      '/tmp/s|abc|1|%5|@3|0||p/2|renamed | by hand',
    ].join('\n');
    const ours = { id: '%3', window: '@2', name: 'task-1.1', ticket: 'p/1.1', dead: true, watched: true };
    expect(parseSession(text)).toEqual({
      socket: '/tmp/s',
      owner: 'abc',
      attached: true,
      placeholders: ['%0'],
      panes: [
        ours,
        { ...ours, id: '%4', ticket: null, dead: false },
        { id: '%5', window: '@3', name: 'renamed | by hand', ticket: 'p/2', dead: false, watched: false },
      ],
    });
  });

  it('is refused when it makes no sense', () => {
    expect(() => parseSession('usage: tmux')).toThrow(TmuxError);
  });
});
