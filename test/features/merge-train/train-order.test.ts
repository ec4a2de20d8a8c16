import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Car, dependentsOf } from '../../../src/features/merge-train/collect-branches.ts';
import { firstFailingCount } from '../../../src/features/merge-train/find-passing-branches.ts';
import { orderByDependencies } from '../../../src/model/plans/dependency-order.ts';

/** Cars that only wait for cars with a smaller number, in any order. */
const trains = fc.array(fc.array(fc.nat(20), { maxLength: 3 }), { maxLength: 12 }).chain((lists) => {
  const cars = lists.map((after, index): Car => {
    const keys = after.filter((other) => other < index).map(String);
    return { key: String(index), dependsOn: [...new Set(keys)] };
  });
  return fc.shuffledSubarray(cars, { minLength: cars.length });
});

describe('the order of a train', () => {
  it('has every car once, behind all that it waits for', () => {
    fc.assert(
      fc.property(trains, (cars) => {
        const keys = orderByDependencies(cars).order.map(({ key }) => key);
        expect([...keys].sort()).toEqual(cars.map(({ key }) => key).sort());
        for (const { key, dependsOn } of cars)
          for (const other of dependsOn) expect(keys.indexOf(other)).toBeLessThan(keys.indexOf(key));
      }),
    );
  });

  it('stays as it was where nobody waits, and ends where cars wait for each other', () => {
    const car = (key: string, ...dependsOn: string[]) => ({ key, dependsOn });
    const keys = (...cars: Car[]) => orderByDependencies(cars).order.map(({ key }) => key);
    expect(keys(car('c'), car('a'), car('b'))).toEqual(['c', 'a', 'b']);
    expect(keys(car('a', 'b'), car('b', 'a'), car('c'))).toEqual(['c', 'a', 'b']);
  });
});

describe('dependents', () => {
  it('are all that wait for one, directly or through others, and nobody else', () => {
    fc.assert(
      fc.property(trains, fc.nat(11), (cars, number) => {
        const start = String(number);
        const found = new Set(dependentsOf(cars, [start]).map(({ key }) => key));
        for (const { key, dependsOn } of cars)
          expect(found.has(key)).toBe(dependsOn.some((other) => other === start || found.has(other)));
      }),
    );
  });
});

describe('the first red car', () => {
  it('is found, with about as many questions as halving takes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 200 }), fc.nat(199), async (length, place) => {
        const culprit = (place % length) + 1;
        let asked = 0;
        const found = await firstFailingCount(length, async (count) => {
          asked++;
          return count < culprit;
        });
        expect(found).toBe(culprit);
        expect(asked).toBeLessThanOrEqual(Math.ceil(Math.log2(length)));
      }),
    );
  });

  it('is red with a green one in front of it, whatever the rest says', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }), async (greens) => {
        const isGreen = (count: number) => count === 0 || (count < greens.length && greens[count] === true);
        const found = await firstFailingCount(greens.length, async (count) => isGreen(count));
        expect([isGreen(found - 1), isGreen(found)]).toEqual([true, false]);
      }),
    );
  });
});
