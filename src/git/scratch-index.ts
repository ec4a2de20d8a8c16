import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Lends a copy of a checkout's index, as `GIT_INDEX_FILE`, so that the real one stays as it is. */
export async function withScratchIndex<T>(
  gitDir: string,
  fn: (env: { GIT_INDEX_FILE: string }) => Promise<T>,
): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-index-'));
  try {
    const copy = join(directory, 'index');
    const index = join(gitDir, 'index');
    if (existsSync(index)) copyFileSync(index, copy);
    return await fn({ GIT_INDEX_FILE: copy });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
