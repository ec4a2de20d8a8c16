import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLI } from './support.ts';

/** What V8 compiled at build time is only there for speed: without it, or with a wrong one, all is as before. */
describe('the packs of a build', () => {
  let dir: string;
  let packs: string;

  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'signalbox-packs-'));
    cpSync(dirname(CLI), join(dir, 'dist'), { recursive: true });
    packs = join(dir, 'dist', 'packs');
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const caches = () => readdirSync(packs).filter((name) => name.endsWith('.cache'));
  const status = (...flags: string[]) => run(flags, 'status');
  const run = (flags: string[], ...words: string[]) => {
    const env = { PATH: process.env.PATH, HOME: dir, SIGNALBOX_HOME: join(dir, 'home') };
    const argv = [...flags, join(dir, 'dist', 'cli.cjs'), ...words];
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
    // What is seldom used comes without.
    const texts = readdirSync(packs).filter((name) => name.endsWith('.js') && !name.startsWith('rest-'));
    expect(caches().sort()).toEqual(texts.map((name) => `${name}.cache`).sort());
  });

  it('loads no library for a status', () => {
    const hook = join(dir, 'names.cjs');
    const loader = JSON.stringify(join(dir, 'dist', 'cli.cjs'));
    writeFileSync(
      hook,
      `process.once('exit', () => process.stderr.write([...require(${loader}).modules.keys()].join(' ')));`,
    );
    const { stderr } = status('--require', hook);
    expect(stderr).toContain('status');
    expect(stderr).not.toMatch(/zod|commander|yaml|liquid/);
  });

  it('reads only what a command needs, and loads what starts programs only where one is started', () => {
    const hook = join(dir, 'packs.cjs');
    const loader = JSON.stringify(join(dir, 'dist', 'cli.cjs'));
    const read = `[...require(${loader}).packs.values()].map(({ filename }) => require('node:path').basename(filename))`;
    writeFileSync(
      hook,
      `process.once('exit', () => process.stderr.write([...${read}, ...process.moduleLoadList].join(' ')));`,
    );
    const loaded = run(['--require', hook], 'completion', 'bash').stderr.split(' ');
    expect(loaded).not.toContain('child_process');
    const rest = loaded.filter((name) => name.startsWith('rest-'));
    expect(rest).toEqual([expect.stringMatching(/^rest-completion-/)]);
  });

  it.each([
    { what: 'nothing', damage: (bytes: Buffer) => bytes.subarray(0, 0) },
    { what: 'half of it', damage: (bytes: Buffer) => bytes.subarray(0, bytes.length / 2) },
    { what: 'something else', damage: (bytes: Buffer) => Buffer.alloc(bytes.length, 'x') },
  ])('does without it where the file holds $what', ({ damage }) => {
    for (const name of caches()) writeFileSync(join(packs, name), damage(readFileSync(join(packs, name))));
    expect(status()).toEqual(fine());
    cpSync(dirname(CLI), join(dir, 'dist'), { recursive: true });
  });

  it('does without it where there is none', () => {
    for (const name of caches()) rmSync(join(packs, name));
    expect(status()).toEqual(fine());
  });
});
