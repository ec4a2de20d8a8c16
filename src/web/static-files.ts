import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  woff2: 'font/woff2',
  webmanifest: 'application/manifest+json',
};
const INDEX = 'index.html';

interface StaticFile {
  type: string;
  bytes: Buffer;
  zipped: Buffer;
  etag: string;
}

/** The files of the page. They have no data, so they are served without a session. All are known by name: no path is built. */
export class StaticFiles {
  readonly #dir: string;
  readonly #files = new Map<string, StaticFile>();
  readonly #names: ReadonlySet<string>;

  constructor(dir: string) {
    this.#dir = dir;
    this.#names = new Set(existsSync(dir) ? readdirSync(dir) : []);
  }

  /** The file of a path; addresses of pages, which the page itself makes sense of, get the page. */
  find(path: string): StaticFile | undefined {
    const name = path.slice(1);
    if (this.#names.has(name) && name !== INDEX) return this.#file(name);
    return /\.\w+$/.test(name) && !name.includes('/') ? undefined : this.#file(INDEX);
  }

  #file(name: string): StaticFile | undefined {
    const known = this.#files.get(name);
    const type = TYPES[name.split('.').at(-1) ?? ''];
    if (known || type === undefined || !this.#names.has(name)) return known;
    const bytes = readFileSync(join(this.#dir, name));
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    const file = { type, bytes, zipped: gzipSync(bytes), etag };
    this.#files.set(name, file);
    return file;
  }
}
