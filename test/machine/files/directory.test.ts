import { existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeDirectory } from '../../../src/machine/files/make-directory-and-handle-storage-errors.ts';
import { SignalboxError } from '../../../src/model/errors.ts';
import { scratch } from '../../store/scratch.ts';

describe('a directory', () => {
  it('is made with those above it, for its owner alone, and is left as it is when it is there', () => {
    const dir = scratch();
    makeDirectory(join(dir, 'a', 'b'));
    expect(statSync(join(dir, 'a')).mode & 0o777).toBe(0o700);
    makeDirectory(join(dir, 'a', 'b'), 0o755);
    expect(statSync(join(dir, 'a', 'b')).mode & 0o777).toBe(0o700);
  });

  it('may be reached through a link', () => {
    const dir = scratch();
    mkdirSync(join(dir, 'real'));
    symlinkSync(join(dir, 'real'), join(dir, 'link'));
    makeDirectory(join(dir, 'link', 'a'));
    expect(existsSync(join(dir, 'real', 'a'))).toBe(true);
  });

  it.each([
    ['below a link that leads nowhere', 'link/a/b', 'link is a link that leads nowhere'],
    ['where such a link is', 'link', 'link is a link that leads nowhere'],
  ])('%s is refused with what is in the way', (_, path, why) => {
    const dir = scratch();
    symlinkSync(join(dir, 'nowhere'), join(dir, 'link'));
    const make = () => makeDirectory(join(dir, path));
    expect(make).toThrow(SignalboxError);
    expect(make).toThrow(`Cannot create the directory ${join(dir, path)}: ${join(dir, why)}.`);
  });

  it.runIf(existsSync('/proc/self'))('in a place that takes none is refused, and soon', () => {
    expect(() => makeDirectory('/proc/signalbox/logs')).toThrow('/proc takes no directories');
  });

  it('below a file is refused with that file', () => {
    const dir = scratch();
    writeFileSync(join(dir, 'file'), '');
    expect(() => makeDirectory(join(dir, 'file', 'a'))).toThrow(`${join(dir, 'file')} is not a directory.`);
  });
});
