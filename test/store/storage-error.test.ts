import { expect, it } from 'vitest';
import { asStorageError } from '../../src/machine/files/make-directory-and-handle-storage-errors.ts';
import type { SignalboxError } from '../../src/model/errors.ts';

it.each([
  ['ENOSPC', 'the disk is full', 'Make room or'],
  ['EROFS', 'it is on a read-only file system', 'Make it writable or'],
  ['EACCES', 'permission denied', 'Make it writable or'],
])('%s is told with a way out that helps', (code, reason, way) => {
  const told = asStorageError(Object.assign(new Error('x'), { code }), '/state') as SignalboxError;
  expect(told.message).toContain(reason);
  expect(told.hint).toContain(way);
});

it('leaves any other error as it is', () => {
  const error = new Error('x');
  expect(asStorageError(error, '/state')).toBe(error);
});
