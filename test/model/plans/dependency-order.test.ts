import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { orderByDependencies } from '../../../src/model/plans/dependency-order.ts';
import { workItem } from '../../issues/scratch.ts';

/** `b:a` waits for a. */
function order(...texts: string[]) {
  const items = texts.map((text) => {
    const [key = '', before = ''] = text.split(':');
    return workItem(key, before.split('').filter(Boolean));
  });
  const { order: sorted, ...rest } = orderByDependencies(items);
  return { order: sorted.map(({ key }) => key).join(''), ...rest };
}

describe('orderByDependencies', () => {
  it.each([
    [[], ''],
    [['c', 'b', 'a'], 'cba'],
    [['a:c', 'b', 'c'], 'bca'],
    [['d:bc', 'c:a', 'b:a', 'a'], 'acbd'],
    [['b:aa', 'a'], 'ab'],
  ])('orders %j as %j', (texts, wanted) => {
    expect(order(...texts)).toEqual({ order: wanted, cycles: [], missing: [] });
  });

  it('names each cycle once and keeps every item', () => {
    expect(order('a:b', 'b:a', 'c:b', 'd')).toEqual({ order: 'dabc', cycles: [['a', 'b']], missing: [] });
    expect(order('a:a')).toMatchObject({ cycles: [['a']] });
    expect(order('a:b', 'b:c', 'c:a', 'd:e', 'e:d').cycles).toEqual([
      ['a', 'b', 'c'],
      ['d', 'e'],
    ]);
  });

  it('tells dependencies that were not asked for, and does not wait for them', () => {
    expect(order('b:ax', 'a:y')).toEqual({
      order: 'ab',
      cycles: [],
      missing: [
        { key: 'b', on: 'x' },
        { key: 'a', on: 'y' },
      ],
    });
  });

  it('is a permutation in which nothing precedes what it waits for, unless there are cycles', () => {
    const graph = fc.integer({ min: 1, max: 12 }).chain((size) =>
      fc.array(fc.uniqueArray(fc.nat({ max: size }), { maxLength: 4 }), {
        minLength: size,
        maxLength: size,
      }),
    );
    fc.assert(
      fc.property(graph, (edges) => {
        const items = edges.map((before, index) => workItem(String(index), before.map(String)));
        const { order: sorted, cycles } = orderByDependencies(items);
        const keys = sorted.map(({ key }) => key);
        expect([...keys].sort()).toEqual(items.map(({ key }) => key).sort());
        for (const cycle of cycles) {
          for (const [index, key] of cycle.entries())
            expect(items[Number(key)]?.dependsOn).toContain(cycle[(index + 1) % cycle.length]);
        }
        if (cycles.length > 0) return;
        for (const { key, dependsOn } of items)
          for (const on of dependsOn.filter((each) => keys.includes(each)))
            expect(keys.indexOf(on)).toBeLessThan(keys.indexOf(key));
      }),
    );
  });
});
