import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLI } from './support.ts';

/** What V8 compiled at build time is only there for speed: without it, or with a wrong one, all is as before. */
describe('the launcher', () => {
  let dir: string;
  let cache: string;

  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'signalbox-launcher-'));
    cpSync(dirname(CLI), join(dir, 'dist'), { recursive: true });
    const chunks = join(dir, 'dist', 'chunks');
    const look = /look-[\w-]+\.js/.exec(readFileSync(CLI, 'utf8'))?.[0];
    cache = join(chunks, readdirSync(chunks).find((name) => name === `${look}.cache`) ?? 'missing');
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const status = (...flags: string[]) => {
    const env = { PATH: process.env.PATH, HOME: dir, SIGNALBOX_HOME: join(dir, 'home') };
    const argv = [...flags, join(dir, 'dist', 'cli.cjs'), 'status'];
    const { stdout, stderr } = spawnSync(process.execPath, argv, { env, encoding: 'utf8' });
    return { stdout, stderr };
  };
  const fine = () => ({ stdout: `No plans in ${join(dir, 'home', 'state', 'plans')}.\n`, stderr: '' });

  it('comes with compiled code that this Node takes', () => {
    expect(status()).toEqual(fine());
    const hook = join(dir, 'hook.cjs');
    writeFileSync(
      hook,
      `const vm = require('node:vm');
      vm.Script = class extends vm.Script {
        constructor(text, options) {
          super(text, options);
          process.stderr.write('refused: ' + this.cachedDataRejected);
        }
      };`,
    );
    expect(status('--require', hook).stderr).toBe('refused: false');
  });

  it.each([
    { what: 'nothing', damage: (bytes: Buffer) => bytes.subarray(0, 0) },
    { what: 'half of it', damage: (bytes: Buffer) => bytes.subarray(0, bytes.length / 2) },
    { what: 'something else', damage: (bytes: Buffer) => Buffer.alloc(bytes.length, 'x') },
  ])('does without it where the file holds $what', ({ damage }) => {
    const whole = readFileSync(cache);
    writeFileSync(cache, damage(whole));
    expect(status()).toEqual(fine());
    writeFileSync(cache, whole);
  });

  it('does without it where there is none', () => {
    rmSync(cache);
    expect(status()).toEqual(fine());
  });
});
