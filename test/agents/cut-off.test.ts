import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import { it } from '../support/index.ts';

const TOOL = fileURLToPath(new URL('../../tools/agents/cut-off.mjs', import.meta.url));
const note = (word: string, name: string, secondsAgo: number) => ({
  word,
  name,
  at: Date.now() - secondsAgo * 1000,
});

describe('a contract suite that ran out of time', () => {
  it.for<[string, ReturnType<typeof note>[], number, RegExp]>([
    ['did not begin', [], 0, /SKIPPED: the real agent programs, which did not begin in time/],
    [
      'only had too little',
      [note('begun', 'a', 300), note('passed', 'a', 290), note('begun', 'b', 20)],
      0,
      /cut off after 2\d s: b\nSKIPPED: .* 1 passed/,
    ],
    ['has a test that hangs', [note('begun', 'pi > b', 200)], 1, /HUNG for 20\d s: pi > b/],
    ['has a test that failed', [note('begun', 'a', 20), note('failed', 'a', 10)], 1, /FAILED: a/],
  ])('%s', ([, notes, code, said], { world }) => {
    const file = join(world.dir, 'progress');
    writeFileSync(file, notes.map((each) => `${JSON.stringify(each)}\n`).join(''));
    const { status, stdout, stderr } = spawnSync(process.execPath, [TOOL, file], { encoding: 'utf8' });
    expect(status).toBe(code);
    expect(stdout + stderr).toMatch(said);
  });
});
