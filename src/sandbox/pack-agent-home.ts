import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { ownDirectories } from '../agents/directories-and-variables-of-clis.ts';

const MAX_BYTES = 16 * 1024 * 1024;

/**
 * What a CLI has written into its home for one ticket, for another machine: sessions, and neither logins nor the user's settings. Secrets are
 * removed from the texts. Undefined where it is too large, or has files that are not text, in which secrets could not be found.
 */
export function packHome(dir: string, adapter: string, redact: (text: string) => string): Buffer | undefined {
  const files: Record<string, string> = {};
  let bytes = 0;
  for (const { at, seeds, shown } of ownDirectories(adapter)) {
    if (linkAbove(dir, at)) continue;
    const left = new Set([...seeds.map(({ name }) => name), ...shown]);
    for (const path of filesIn(join(dir, at), '', left)) {
      const content = readFileSync(join(dir, at, path));
      bytes += content.length;
      const text = content.toString('utf8');
      if (bytes > MAX_BYTES || text.includes('\0') || !Buffer.from(text).equals(content)) return undefined;
      files[join(at, path)] = text.split('\n').map(redact).join('\n');
    }
  }
  return Object.keys(files).length > 0 ? gzipSync(JSON.stringify(files)) : undefined;
}

/** Writes them into the home of the ticket on this machine, in place of what is there. */
export function unpackHome(dir: string, adapter: string, packed: Buffer): void {
  const files = JSON.parse(gunzipSync(packed, { maxOutputLength: 8 * MAX_BYTES }).toString('utf8')) as Record<
    string,
    string
  >;
  const own = ownDirectories(adapter).map(({ at }) => at);
  for (const at of own) {
    for (let link = linkAbove(dir, at); link; link = linkAbove(dir, at)) rmSync(link);
    rmSync(join(dir, at), { recursive: true, force: true });
  }
  for (const [path, text] of Object.entries(files)) {
    const isOwn = own.some((at) => path.startsWith(`${at}/`)) && !path.split('/').includes('..');
    if (!isOwn) continue;
    mkdirSync(dirname(join(dir, path)), { recursive: true, mode: 0o700 });
    writeFileSync(join(dir, path), text, { mode: 0o600 });
  }
}

/** A link in place of a directory above one of a home. An agent could have made it, to reach files outside of its home. */
function linkAbove(dir: string, at: string): string | undefined {
  const names = at.split('/').slice(0, -1);
  return names
    .map((_, index) => join(dir, ...names.slice(0, index + 1)))
    .find((path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink());
}

/** Plain files below a directory. Links are left out: an agent may have pointed them anywhere. */
function filesIn(root: string, below: string, left: ReadonlySet<string>): string[] {
  const stat = lstatSync(join(root, below), { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return [];
  return readdirSync(join(root, below), { withFileTypes: true }).flatMap((entry) => {
    const path = join(below, entry.name);
    if (below === '' && left.has(entry.name)) return [];
    if (entry.isDirectory()) return filesIn(root, path, left);
    return entry.isFile() ? [path] : [];
  });
}
