import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const demo = fileURLToPath(new URL('../../tools/demo.mjs', import.meta.url));
let base: string;
let temp: string;
let home: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'demo test-')));
  temp = join(base, 'a temporary place');
  home = join(base, 'home');
  mkdirSync(temp);
  mkdirSync(home);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

/** Runs the demo; once it has printed `until`, it is asked to end. */
function run(args: string[], until?: string): Promise<{ code: number | null; out: string; err: string }> {
  const env = { PATH: process.env.PATH, HOME: home, TMPDIR: temp, SIGNALBOX_HOME: join(home, 'mine') };
  const child = spawn(process.execPath, [demo, ...args], { env, cwd: base });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const before = out.length;
    out += text;
    if (until && out.includes(until) && !out.slice(0, before).includes(until)) child.kill('SIGTERM');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err })));
}

describe('npm run demo', () => {
  it('serves its page, if it is asked to, until it ends', { tags: 'full' }, async () => {
    const { code, out, err } = await run(['--web', '--clean']);
    expect({ code, err }, out).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/The page is at http:\/\/127\.0\.0\.1:\d+\/\n/);
    expect(out).toContain('4 of 4 done');
  });

  it('takes four tickets to main, in a directory of its own, and shows how', { tags: 'full' }, async () => {
    const { code, out, err } = await run([]);
    expect({ code, err }, out).toEqual({ code: 0, err: '' });
    expect(out).not.toContain('\u001b');
    expect(out).toMatch(/docs: self_review → fail .*docs: self_review \[visit 2\] → pass /s);
    expect(out).toMatch(/cache: implement usage limit .*cache: implement \[attempt 2\] ✓ /s);
    expect(out).toMatch(/✓ parser complete.*cli: implement ✓/s);
    expect(out).toContain('4 of 4 done');
    expect(out).toContain('$ git merge --ff-only signalbox/main\n');
    expect(out).toMatch(/\(HEAD -> main, signalbox\/main\) Merge ticket\/teatime\//);
    expect(out).toContain('oolong: 90 °C, steep 3:00');
    expect(readdirSync(home)).toEqual([]);

    const [scratch = ''] = readdirSync(temp);
    expect(readdirSync(temp)).toEqual([scratch]);
    expect(out).toContain(`Kept, until you delete it: ${join(temp, scratch)}`);
    expect(existsSync(join(temp, scratch, 'teatime', 'bin', 'teatime.js'))).toBe(true);
  });

  it('stops when asked to, and cleans up when asked to', async () => {
    const { code, out } = await run(['--clean'], 'implement started');
    expect(code, out).toBe(143);
    expect(out).toMatch(/Stopped, and .* is removed\.\n$/);
    expect(readdirSync(temp)).toEqual([]);
  });

  it('refuses words that it does not know, and does nothing', async () => {
    const { code, err } = await run(['--claen']);
    expect(code).toBe(2);
    expect(err).toContain('npm run demo [-- --clean]');
    expect(readdirSync(temp)).toEqual([]);
  });
});
