import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeAtomic } from '../../../src/machine/files/write-atomic-and-note-facts.ts';
import { scratch } from '../../store/scratch.ts';
import { Fixture } from '../../support/fixture.ts';

describe('writeAtomic', () => {
  it('makes and replaces a file that only its owner can read, and leaves nothing else', () => {
    const dir = scratch();
    const file = join(dir, 'f.json');
    for (const text of ['one', 'two', '', 'ümläut 😀'.repeat(10_000)]) {
      writeAtomic(file, text);
      expect(readFileSync(file, 'utf8')).toBe(text);
    }
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(dir)).toEqual(['f.json']);
  });

  it('keeps the old state and cleans up when it cannot write', () => {
    const dir = scratch();
    mkdirSync(join(dir, 'taken', 'by-a-directory'), { recursive: true });
    expect(() => writeAtomic(join(dir, 'taken'), 'x')).toThrow();
    expect(readdirSync(dir)).toEqual(['taken']);
    expect(() => writeAtomic(join(dir, 'missing', 'f'), 'x')).toThrow(/ENOENT/);
  });

  it('is not stopped by what a process of the same number left behind', () => {
    const dir = scratch();
    const file = join(dir, 'f.json');
    for (let n = 0; n < 200; n++)
      writeFileSync(`${file}.${process.pid}.${n}.tmp`, 'much longer than the new text');
    writeAtomic(file, 'new');
    expect(readFileSync(file, 'utf8')).toBe('new');
  });

  it('replaces a link, not what it leads to', () => {
    const dir = scratch();
    writeFileSync(join(dir, 'target'), 'untouched');
    symlinkSync(join(dir, 'target'), join(dir, 'link'));
    writeAtomic(join(dir, 'link'), 'new');
    expect(readFileSync(join(dir, 'target'), 'utf8')).toBe('untouched');
    expect(readFileSync(join(dir, 'link'), 'utf8')).toBe('new');
  });
});

describe('kill -9 in the middle of writing', () => {
  let worker: Fixture;
  beforeAll(async () => {
    worker = await Fixture.build(new URL('../../store/worker.ts', import.meta.url));
  });
  afterAll(() => worker.remove());

  it('leaves the old or the new text, whole', { tags: 'full' }, async () => {
    const dir = scratch();
    const file = join(dir, 'f.json');
    for (let round = 0; round < 8; round++) {
      const writer = worker.start(['rewrite', file]);
      await writer.line(round);
      writer.kill('SIGKILL');
      await writer.ended;
      const text = readFileSync(file, 'utf8');
      expect(text).toHaveLength(300_000);
      expect(text).toBe(text.charAt(0).repeat(300_000));
    }
    writeAtomic(file, 'goes on');
    expect(readFileSync(file, 'utf8')).toBe('goes on');
  });

  it('never shows a reader half a file', async () => {
    const file = join(scratch(), 'f.json');
    const writer = worker.start(['rewrite', file]);
    await writer.line(0);
    for (const end = performance.now() + 400; performance.now() < end; ) {
      const text = readFileSync(file, 'utf8');
      expect(text === text.charAt(0).repeat(300_000)).toBe(true);
    }
    writer.kill('SIGKILL');
    await writer.ended;
  });
});
