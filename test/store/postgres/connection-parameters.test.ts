import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StoreAddress } from '../../../src/config/find-config-and-state.ts';
import { findStoreAddress } from '../../../src/config/find-config-and-state.ts';
import { InputError } from '../../../src/model/errors.ts';
import {
  clientConfig,
  connectionParameters,
  shownAddress,
} from '../../../src/store/postgres/connection-parameters.ts';
import { explainPgError } from '../../../src/store/postgres/explain-pg-errors.ts';
import { scratch } from '../scratch.ts';

const SECRET = 'geheim!';
const parse = (text: string, env: Record<string, string> = {}, from: StoreAddress['from'] = 'variable') =>
  connectionParameters({ text, from }, { env, cwd: '/' });

/** The error, with everything that a person or a log could see of it. */
function refusal(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    expect(error).toBeInstanceOf(InputError);
    const { message, hint, details, cause, stack } = error as InputError;
    return [message, hint, JSON.stringify(details), String(cause), stack].join('\n');
  }
  throw new Error('It was not refused.');
}

function file(text: string, mode = 0o600): string {
  const path = join(scratch(), 'file');
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

describe('an address', () => {
  it('says where the database is', () => {
    expect(parse('postgres://anna@db.example.com:6000/team?sslmode=disable')).toEqual({
      host: 'db.example.com',
      port: 6000,
      database: 'team',
      user: 'anna',
      password: '',
      tls: null,
    });
    expect(parse('postgresql://a%40b:p%3Aw@localhost')).toMatchObject({
      user: 'a@b',
      password: 'p:w',
      port: 5432,
      database: 'a@b',
    });
    expect(parse('postgres://localhost/team', { USER: 'anna' }).user).toBe('anna');
    expect(parse('postgres://anna@[::1]/team').host).toBe('::1');
    expect(parse('postgres://anna@/team?host=/run/postgresql')).toMatchObject({
      host: '/run/postgresql',
      tls: null,
    });
  });

  it.each([
    ['mysql://anna@host/db', 'cannot be read'],
    [`postgres://anna:${SECRET}@host:port/db`, 'cannot be read'],
    [`anna:${SECRET}@host/db`, 'cannot be read'],
    [`postgres://anna:${SECRET}@/db`, 'names no host'],
    [`postgres://:${SECRET}@host/db`, 'names no user'],
    [`postgres://anna:${SECRET}%@host/db`, 'no part of a code'],
    [`postgres://anna:${SECRET}@host/db?sslmod=require`, 'unknown parameter "sslmod"'],
    [`postgres://anna:${SECRET}@host/db?sslmode=prefer`, 'only perhaps'],
    [`postgres://anna:${SECRET}@host/db?sslmode=disable&sslmode=require`, '"sslmode" twice'],
    [`postgres://anna:${SECRET}@host/db?sslrootcert=/none.pem`, '/none.pem cannot be read'],
  ])('that cannot be used is refused without its password: %s', (text, why) => {
    const said = refusal(() => parse(text));
    expect(said).toContain(why);
    expect(said).not.toContain(SECRET);
  });

  it('is shown without its password', () => {
    const parameters = parse(`postgres://anna:${SECRET}@localhost/team`);
    expect(shownAddress(parameters)).toBe('postgres://anna@localhost:5432/team');
    const told = explainPgError(Object.assign(new Error(`odd: ${SECRET}`), { code: 'XX000' }), parameters);
    expect(String(told)).not.toContain(SECRET);
    expect((told as Error).cause).toBeUndefined();
  });
});

describe('the password', () => {
  it('is refused in an argument', () => {
    const said = refusal(() => parse(`postgres://anna:${SECRET}@localhost/team`, {}, 'argument'));
    const asParameter = refusal(() =>
      parse(`postgres://anna@localhost/team?password=${SECRET}`, {}, 'argument'),
    );
    expect(asParameter).toContain('PGPASSFILE');
    expect(asParameter).not.toContain(SECRET);
    expect(said).toContain('PGPASSFILE');
    expect(said).not.toContain(SECRET);
  });

  it('comes from the address, then PGPASSWORD, then PGPASSFILE', () => {
    const PGPASSFILE = file(
      `# a comment\nother:*:*:*:wrong\nlocalhost:5432:te\\:am:anna:with\\:colon\n*:*:*:anna:last\n`,
    );
    const env = { PGPASSWORD: 'of the variable', PGPASSFILE };
    expect(parse('postgres://anna:own@localhost/x', env).password).toBe('own');
    expect(parse('postgres://anna@localhost/x', env).password).toBe('of the variable');
    expect(parse('postgres://anna@localhost/x', { PGPASSFILE }).password).toBe('last');
    expect(parse('postgres://anna@localhost/te:am', { PGPASSFILE }).password).toBe('with:colon');
    expect(parse('postgres://otto@localhost/x', { PGPASSFILE }).password).toBe('');
    expect(parse('postgres://anna@localhost/x', { PGPASSFILE }, 'argument').password).toBe('last');
  });

  it('is not read from a file that others can read', () => {
    const PGPASSFILE = file(`*:*:*:*:${SECRET}\n`, 0o640);
    const said = refusal(() => parse('postgres://anna@localhost/x', { PGPASSFILE }));
    expect(said).toContain(`chmod 600 ${PGPASSFILE}`);
    expect(said).not.toContain(SECRET);
  });

  it('never lets the library look for one itself', () => {
    expect(clientConfig(parse('postgres://anna@localhost/x')).password()).toBe('');
  });
});

describe('encryption', () => {
  const ca = () => file('-----BEGIN CERTIFICATE-----');
  it('is the default as soon as the connection leaves the machine', () => {
    expect(parse('postgres://a@127.0.0.1/x').tls).toBeNull();
    expect(parse('postgres://a@db/x').tls).toEqual({ verifies: 'host' });
    expect(clientConfig(parse('postgres://a@db/x')).ssl).toEqual({ rejectUnauthorized: true });
  });

  it('follows the usual parameters and variables', () => {
    expect(parse('postgres://a@db/x?sslmode=require').tls).toEqual({ verifies: 'nothing' });
    expect(parse('postgres://a@db/x', { PGSSLMODE: 'disable' }).tls).toBeNull();
    const named = ca();
    expect(parse(`postgres://a@db/x?sslmode=require&sslrootcert=${named}`).tls?.verifies).toBe('authority');
    expect(parse('postgres://a@localhost/x?sslmode=verify-full', { PGSSLROOTCERT: named }).tls).toMatchObject(
      {
        verifies: 'host',
        ca: '-----BEGIN CERTIFICATE-----',
      },
    );
    const config = clientConfig(parse(`postgres://a@db/x?sslmode=verify-ca&sslrootcert=${named}`)).ssl;
    expect(config).toMatchObject({ rejectUnauthorized: true, checkServerIdentity: expect.any(Function) });
  });
});

describe('where the address is found', () => {
  const at = (env: Record<string, string>, argument?: string) =>
    findStoreAddress({ env, cwd: '/', argument });

  it('is the argument, the variable, or the file', () => {
    const home = scratch();
    const env = { SIGNALBOX_HOME: home };
    expect(at(env)).toBeUndefined();
    writeFileSync(join(home, 'store-address'), '# the team\n\npostgres://a:b@c/d\n', { mode: 0o600 });
    expect(at(env)).toEqual({ text: 'postgres://a:b@c/d', from: 'file' });
    expect(at({ ...env, SIGNALBOX_STORE: 'postgres://e@f/g' })).toEqual({
      text: 'postgres://e@f/g',
      from: 'variable',
    });
    expect(at(env, 'postgres://h@i/j')).toEqual({ text: 'postgres://h@i/j', from: 'argument' });
    chmodSync(join(home, 'store-address'), 0o644);
    expect(refusal(() => at(env))).toContain('chmod 600');
    writeFileSync(join(home, 'store-address'), '# nothing\n');
    chmodSync(join(home, 'store-address'), 0o600);
    expect(refusal(() => at(env))).toContain('no address');
  });
});
