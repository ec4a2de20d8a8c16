import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryDisk } from '../../tools/memory-disk.mjs';
import { SERVER_DIR, stopPostgres } from './stop-postgres.ts';

/** Tests start PostgreSQL when they first need it; it ends with the test run. */
export default function setup(): () => Promise<void> {
  const dir = join(process.env.TMPDIR ?? memoryDisk() ?? tmpdir(), `signalbox-postgres-${process.pid}`);
  process.env[SERVER_DIR] = dir;
  process.env[`${SERVER_DIR}_RUNNER`] = String(process.pid);
  return () => stopPostgres(dir);
}
