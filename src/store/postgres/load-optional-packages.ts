import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { InputError } from '../../model/errors.ts';
import { shellWord } from '../../model/text/quote-values-for-shell.ts';
import type { clientConfig } from './connection-parameters.ts';

/** The part of `pg` that is used here: its own types would become a part of ours, and it is optional. */
export interface PgClient {
  connect(): Promise<unknown>;
  query<R>(query: { text: string; values?: readonly unknown[] }): Promise<{ rows: R[] }>;
  end(): Promise<void>;
  on(event: 'error' | 'end' | 'notification', listener: (value: never) => void): unknown;
  ref(): void;
  unref(): void;
  connection: { stream: { destroy(): void } };
}

export type PgModule = { Client: new (config: ReturnType<typeof clientConfig> & PgOptions) => PgClient };

interface PgOptions {
  connectionTimeoutMillis: number;
  keepAlive: boolean;
  keepAliveInitialDelayMillis: number;
  application_name: string;
}

/** The versions that the tests run with. */
const PEERS = {
  pg: { wanted: '^8.23.1', fits: (version: string) => /^8\.(2[3-9]|[3-9]\d)\./.test(version) },
  'pg-boss': { wanted: '~12.35.0', fits: (version: string) => /^12\.35\./.test(version) },
};

type Peer = keyof typeof PEERS;

/** Loads an optional package that is installed beside Signalbox. One of the current directory is never loaded: a repository could bring it. */
export async function loadPeer<T>(name: Peer, packageDir: string): Promise<T> {
  const found = findPeer(name, packageDir);
  if (typeof found !== 'string') throw found;
  const loaded = (await import(pathToFileURL(found).href)) as { default?: T } & T;
  return loaded.default ?? loaded;
}

/** Where a package is, if it can be used; otherwise what to do. */
export function findPeer(name: Peer, packageDir: string): string | InputError {
  const require = createRequire(join(packageDir, 'package.json'));
  const { wanted, fits } = PEERS[name];
  // Some versions do not export their package.json, so it cannot be resolved as a module.
  const manifest = (require.resolve.paths(name) ?? [])
    .map((modules) => join(modules, name, 'package.json'))
    .find(existsSync);
  if (manifest === undefined) return refusal(`A store in PostgreSQL needs the package ${name}.`, packageDir);
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
  if (fits(version)) return require.resolve(name);
  return refusal(`${name} ${version} is installed, and Signalbox was tested with ${wanted}.`, packageDir);
}

function refusal(message: string, packageDir: string): InputError {
  return new InputError('store/packages', message, {
    hint: `Install it: ${installPackagesCommand(packageDir)}`,
  });
}

/** Installs both packages where this installation of Signalbox finds them. */
export function installPackagesCommand(packageDir: string): string {
  const packages = Object.entries(PEERS).map(([name, { wanted }]) => `'${name}@${wanted}'`);
  const modules = dirname(packageDir);
  const isInstalled = basename(modules) === 'node_modules';
  const project = isInstalled ? dirname(modules) : packageDir;
  if (isInstalled && !existsSync(join(project, 'package.json')))
    return `npm install --global ${packages.join(' ')}`;
  return `npm install --prefix ${shellWord(project)} ${packages.join(' ')}`;
}
