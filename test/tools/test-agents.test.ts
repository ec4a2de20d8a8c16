import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

const TOOL = fileURLToPath(new URL('../../tools/agents/test.mjs', import.meta.url));

/** Runs the tool where `npm` does this, and no CLI is installed. */
function run(npm: string, ...args: string[]) {
  const dir = mkdtempSync(join(tmpdir(), 'signalbox-npm-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'npm'), `#!/bin/sh\n${npm}\n`);
  chmodSync(join(dir, 'npm'), 0o755);
  const PATH = [dir, dirname(process.execPath), '/usr/bin', '/bin'].join(':');
  const env = { PATH, HOME: dir, SIGNALBOX_AGENTS_DIR: join(dir, 'cache') };
  return spawnSync(process.execPath, [TOOL, ...args], { env, encoding: 'utf8' });
}

describe('npm run test:agents', () => {
  it('fails when an agent cannot be installed', () => {
    const { status, stderr } = run('echo "npm error code ENOTFOUND" >&2; exit 1', 'claude');
    expect(status).toBe(1);
    expect(stderr).toContain('ENOTFOUND');
  });

  it('refuses an agent that it does not know', () => {
    expect(run('exit 9', 'cluade')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/^No such agent: cluade\. Known: .*claude/),
    });
  });

  it.each(['--help', '-h'])('%s says how it is called, and installs nothing', (flag) => {
    const { status, stdout } = run('exit 9', flag);
    expect(status).toBe(0);
    expect(stdout).toContain('[name[@version]...] [-- vitest arguments]');
  });
});
