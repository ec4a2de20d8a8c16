import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Set by the global setup of Vitest: where the server of this test run is, as soon as a test has asked for it. */
export const SERVER_DIR = 'SIGNALBOX_TEST_POSTGRES';

/** Ends the server of a test run by its own process. */
export async function stopPostgres(dir: string): Promise<void> {
  if (!existsSync(dir)) return;
  const { pid } = existsSync(join(dir, 'server.json'))
    ? (JSON.parse(readFileSync(join(dir, 'server.json'), 'utf8')) as { pid: number })
    : { pid: 0 };
  writeFileSync(join(dir, 'stop'), '');
  const end = Date.now() + 15_000;
  while (pid > 0 && !existsSync(join(dir, 'stopped')) && Date.now() < end)
    await new Promise((resolve) => setTimeout(resolve, 20));
  rmSync(dir, { recursive: true, force: true });
}
