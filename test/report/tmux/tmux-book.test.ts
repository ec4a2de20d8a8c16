import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TmuxPane } from '../../../src/machine/tmux/session-windows-and-panes.ts';
import { panesToClose, windowStep } from '../../../src/report/tmux/tmux-view.ts';

function pane(number: number, more: Partial<TmuxPane> = {}): TmuxPane {
  const ticket = `p/${number}`;
  return { id: `%${number}`, window: `@${number}`, name: '', ticket, dead: false, watched: false, ...more };
}

describe('a ticket’s window', () => {
  const alive = [pane(1), pane(2)];
  const dead = [pane(1, { dead: true }), pane(2)];
  it.each([
    ['is opened at first', alive, 'p/3', true, { do: 'open' }],
    ['stays as it is while it follows', alive, 'p/1', false, { do: 'nothing' }],
    ['is taken over from an earlier run', alive, 'p/1', true, { do: 'restart', pane: '%1' }],
    ['follows again after its end', dead, 'p/1', false, { do: 'restart', pane: '%1' }],
    ['stays closed when a person closed it', alive, 'p/3', false, { do: 'nothing' }],
  ])('%s', (_name, panes, ticket, fresh, step) => {
    expect(windowStep(panes, ticket, fresh)).toEqual(step);
  });
});

describe('windows above the limit', () => {
  const none = new Set<string>();
  it.each([
    ['none are there', [pane(1, { dead: true }), pane(2)], none, 2, []],
    [
      'the oldest finished ones go',
      [pane(10, { dead: true }), pane(9, { dead: true }), pane(2)],
      none,
      2,
      ['%9'],
    ],
    ['a ticket that rests is finished', [pane(1), pane(2)], new Set(['p/2']), 1, ['%2']],
    ['one that somebody looks at stays', [pane(1, { dead: true, watched: true }), pane(2)], none, 1, []],
    ['those of others do not count', [pane(1, { ticket: null, dead: true }), pane(2)], none, 1, []],
  ])('%s', (_name, panes, resting, limit, closed) => {
    expect(panesToClose({ panes, resting, limit })).toEqual(closed);
  });

  it('are closed only when finished, never more than needed, and all that may be', () => {
    const panes = fc.array(fc.record({ ours: fc.boolean(), dead: fc.boolean(), watched: fc.boolean() }));
    fc.assert(
      fc.property(panes, fc.nat(10), (made, limit) => {
        const all = made.map(({ ours, dead, watched }, index) =>
          pane(index, { dead, watched, ...(ours ? {} : { ticket: null }) }),
        );
        const closed = panesToClose({ panes: all, resting: none, limit });
        const mayGo = all.filter((each) => each.ticket !== null && each.dead && !each.watched);
        const tooMany = Math.max(0, all.filter((each) => each.ticket !== null).length - limit);
        expect(closed).toEqual(mayGo.slice(0, tooMany).map(({ id }) => id));
      }),
    );
  });
});
