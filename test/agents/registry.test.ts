import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { registryAnswers } from '../../tools/agents/registry.mjs';
import { within } from '../support/within.ts';

const TOOL = fileURLToPath(new URL('../../tools/agents/test.mjs', import.meta.url));

/** An environment in which `npm` does this, and no CLI is installed. */
function withNpm(body: string): NodeJS.ProcessEnv {
  const dir = mkdtempSync(join(tmpdir(), 'signalbox-npm-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'npm'), `#!/bin/sh\n${body}\n`);
  chmodSync(join(dir, 'npm'), 0o755);
  const PATH = [dir, dirname(process.execPath), '/usr/bin', '/bin'].join(':');
  return { PATH, HOME: dir, SIGNALBOX_AGENTS_DIR: join(dir, 'cache') };
}

const NO_NETWORK = 'echo "npm error code ENOTFOUND" >&2; exit 1';

describe('the npm registry', () => {
  it.each([
    ['answers', 'exit 0', true],
    ['refuses', 'echo "npm error code E404" >&2; exit 1', true],
    ['is not found', NO_NETWORK, false],
    ['is silent', 'exec sleep 60', false],
  ])('%s', (_name, body, expected) => {
    expect(registryAnswers({ env: withNpm(body), timeoutMs: within(1_000) })).toBe(expected);
  });

  it('that is not reachable skips the real suite in so many words, where that is allowed', () => {
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [TOOL, ...args], { env: withNpm(NO_NETWORK), encoding: 'utf8' });
    const skipped = run('--if-reachable', 'claude', 'pi');
    expect(skipped.status).toBe(0);
    expect(skipped.stdout).toMatch(/^SKIPPED: .*claude, pi.* the npm registry is not reachable\.\n$/);
    const strict = run('claude');
    expect(strict.status).toBe(1);
    expect(strict.stderr).toContain('ENOTFOUND');
  });
});

it.each(['--help', '-h'])('%s of the contract suite says how it is called, and installs nothing', (flag) => {
  const asked = spawnSync(process.execPath, [TOOL, flag], { env: withNpm('exit 9'), encoding: 'utf8' });
  expect(asked.status).toBe(0);
  expect(asked.stdout).toContain('--if-reachable');
});
