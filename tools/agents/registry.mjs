import { spawnSync } from 'node:child_process';

/** Whether the npm registry answers within some seconds. A refusal is an answer: mirrors may not know the ping. */
export function registryAnswers({ env = process.env, timeoutMs = 10_000 } = {}) {
  const args = ['ping', '--fetch-retries=0', `--fetch-timeout=${timeoutMs}`];
  const { status, stderr } = spawnSync('npm', args, { env, encoding: 'utf8', timeout: timeoutMs });
  return status === 0 || /\bcode E[45]\d\d\b/.test(stderr ?? '');
}
