import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sessionDir } from '../../src/cli/commands/interactive.ts';

let root: string;
let home: string;
let temp: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'session-files-'));
  home = join(root, 'home');
  temp = join(root, 'temp');
  for (const dir of [home, temp]) mkdirSync(dir);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const modeOf = (path: string) => statSync(path).mode & 0o777;
/** No process has it. */
const GONE = 2 ** 22 + 1;

describe('the directory of a planning session', () => {
  it('is in the home, for its owner alone', () => {
    const one = sessionDir(home, {});
    const two = sessionDir(home, {});
    expect([dirname(one), dirname(two)]).toEqual([join(home, 'planner'), join(home, 'planner')]);
    expect(one).not.toBe(two);
    expect([modeOf(one), modeOf(dirname(one))]).toEqual([0o700, 0o700]);
  });

  it('is not made where others can write', () => {
    mkdirSync(join(home, 'planner'));
    chmodSync(join(home, 'planner'), 0o777);
    expect(() => sessionDir(home, {})).toThrow('can be written to by others');
    expect(readdirSync(join(home, 'planner'))).toEqual([]);
  });

  it('shares nothing but the temporary directory where the home is in a repository', () => {
    mkdirSync(join(home, '.git'));
    writeFileSync(join(home, '.git/HEAD'), '');
    // What another user made beforehand.
    mkdirSync(join(temp, 'planner'));
    chmodSync(join(temp, 'planner'), 0o777);
    const dir = sessionDir(home, { TMPDIR: temp });
    expect(dirname(dir)).toBe(temp);
    expect(modeOf(dir)).toBe(0o700);
    expect(readdirSync(join(temp, 'planner'))).toEqual([]);
    chmodSync(join(temp, 'planner'), 0o000);
    expect(dirname(sessionDir(home, { TMPDIR: temp }))).toBe(temp);
  });

  it('takes an empty .git for no repository', () => {
    mkdirSync(join(home, '.git'));
    expect(dirname(sessionDir(home, { TMPDIR: temp }))).toBe(join(home, 'planner'));
  });

  it('is in no repository, also when the temporary directory is in one', () => {
    mkdirSync(join(root, '.git'));
    writeFileSync(join(root, '.git/HEAD'), '');
    const dir = sessionDir(home, { TMPDIR: temp });
    try {
      expect(dir.startsWith(root)).toBe(false);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('clears away what sessions that are gone left, and nothing else', () => {
    mkdirSync(join(home, '.git'));
    writeFileSync(join(home, '.git/HEAD'), '');
    const left = join(temp, `signalbox-planner-${GONE}-abc123`);
    const kept = [`signalbox-planner-${process.pid}-abc123`, `${GONE}-abc123`, `signalbox-planner-x`];
    for (const dir of [left, ...kept.map((name) => join(temp, name))]) {
      mkdirSync(dir);
      writeFileSync(join(dir, 'mcp.json'), '{}');
    }
    sessionDir(home, { TMPDIR: temp });
    expect(existsSync(left)).toBe(false);
    for (const name of kept) expect(existsSync(join(temp, name))).toBe(true);
  });
});
