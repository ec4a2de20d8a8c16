import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { filesChangedSince } from '../../src/engine/users-changes-in-checkout.ts';

const files = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('1', '2'));
const plain = (of: Record<string, string>) => ({ head: 'h', files: { ...of } });

describe('filesChangedSince', () => {
  it('names all that is there in another form than when the ticket stopped, and nothing else', () => {
    fc.assert(
      fc.property(files, files, (then, now) => {
        const others = new Set(filesChangedSince(plain(then), plain(now)));
        for (const file of Object.keys(now)) expect(others.has(file)).toBe(then[file] !== now[file]);
        expect([...others].every((file) => file in now)).toBe(true);
      }),
    );
  });

  it('names everything where nobody knows how it was left', () => {
    expect(filesChangedSince(undefined, plain({ a: '1', b: '2' }))).toEqual(['a', 'b']);
  });
});
