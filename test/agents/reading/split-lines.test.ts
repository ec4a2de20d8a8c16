import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineSplitter } from '../../../src/agents/reading/split-lines.ts';

function split(chunks: Buffer[], maxLine?: number) {
  const lines: string[] = [];
  const splitter = lineSplitter((line) => lines.push(line), maxLine);
  for (const chunk of chunks) {
    splitter.push(chunk);
    chunk.fill(0);
  }
  splitter.flush();
  return { lines, dropped: splitter.dropped };
}

function cut(bytes: Buffer, sizes: number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let start = 0;
  for (const size of sizes) {
    chunks.push(Buffer.from(bytes.subarray(start, start + size)));
    start += size;
  }
  chunks.push(Buffer.from(bytes.subarray(start)));
  return chunks;
}

const sizes = fc.array(fc.integer({ min: 0, max: 7 }));

describe('lineSplitter', () => {
  it('gives the same lines however the bytes are cut', () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, ''));
    fc.assert(
      fc.property(fc.array(line), sizes, (lines, at) => {
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''));
        expect(split(cut(bytes, at))).toEqual({ lines, dropped: 0 });
      }),
    );
  });

  it('hands out a last line without a newline, and none that is empty', () => {
    expect(split([Buffer.from('a\nb')]).lines).toEqual(['a', 'b']);
    expect(split([Buffer.from('a\n\n')]).lines).toEqual(['a', '']);
    expect(split([]).lines).toEqual([]);
  });

  it('takes CRLF for a newline', () => {
    expect(split([Buffer.from('a\r'), Buffer.from('\nb\rc\r\n')]).lines).toEqual(['a', 'b\rc']);
  });

  it('drops and counts lines above the limit, and only those', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z]{0,20}$/)), sizes, (all, at) => {
        const bytes = Buffer.from(all.map((text) => `${text}\n`).join(''));
        const kept = all.filter((text) => text.length <= 10);
        expect(split(cut(bytes, at), 10)).toEqual({ lines: kept, dropped: all.length - kept.length });
      }),
    );
  });

  const MEGABYTE = Buffer.alloc(1024 * 1024, 'x');

  it('keeps a line of 64 MB', () => {
    const lengths: number[] = [];
    const splitter = lineSplitter((line) => lengths.push(line.length));
    for (let i = 0; i < 64; i += 1) splitter.push(MEGABYTE);
    splitter.push(Buffer.from('\nafter\n'));
    expect(lengths).toEqual([64 * MEGABYTE.length, 5]);
    expect(splitter.dropped).toBe(0);
  });

  it('keeps no more than 64 MB of an endless line', () => {
    const lines: string[] = [];
    const splitter = lineSplitter((line) => lines.push(line));
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 300; i += 1) splitter.push(MEGABYTE);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThanOrEqual(65 * MEGABYTE.length);
    splitter.push(Buffer.from('\nafter\n'));
    splitter.flush();
    expect(lines).toEqual(['after']);
    expect(splitter.dropped).toBe(1);
  });
});
