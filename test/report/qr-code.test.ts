import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { qrCode, qrLines } from '../../src/report/qr-code.ts';

const LINK = `http://192.168.1.20:4747/?token=${'aZ9_-q'.repeat(60)}`;
const sum = (modules: boolean[][] | undefined) =>
  createHash('sha256').update(JSON.stringify(modules)).digest('hex').slice(0, 12);

// Every one of these was read back by another program (zbarimg) as the text that it was made from.
it.each([
  [5, 21, '9b63b5b9eb7b'],
  [25, 25, 'c7093bbbe3f9'],
  [50, 29, '7a2a6874d36e'],
  [70, 33, '88ac4654b354'],
  [100, 37, '3eb731a1309d'],
  [130, 41, '13a995a3c87c'],
  [150, 45, 'baaf94e08590'],
  [180, 49, '0686b3a89fc8'],
  [225, 53, 'dab339d551b7'],
])('the code of %i characters is the one that was read back', (length, size, wanted) => {
  const modules = qrCode(LINK.slice(0, length));
  expect([modules?.length, sum(modules)]).toEqual([size, wanted]);
});

it('a code is drawn with two rows in a line and a margin', () => {
  const lines = qrLines('x');
  expect(lines).toHaveLength(13);
  expect(lines?.every((line) => line.length === 25)).toBe(true);
  expect(lines?.[0]).toBe('█'.repeat(25));
});

it('a text that is too long has no code', () => {
  expect(qrCode('x'.repeat(230))).toBeDefined();
  expect(qrCode('x'.repeat(231))).toBeUndefined();
});
