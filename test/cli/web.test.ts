import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { sendSignal } from '../../src/machine/process-identity-and-signals.ts';
import { tokenFile } from '../../src/web/token-and-sessions.ts';
import { writeExecutable } from '../support/agents.ts';
import { isRunning, it, type World, waitFor } from '../support/index.ts';

interface Start {
  type: string;
  url: string;
  pid: number;
  running: boolean;
}

const startIn = (out: string) =>
  out
    .split('\n')
    .filter((line) => line.includes('"web:start"'))
    .map((line) => JSON.parse(line) as Start);

const token = (world: World) => readFileSync(tokenFile(world.home), 'utf8').trim();

function statusAt(url: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    get(url, { agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    }).on('error', () => resolve(undefined));
  });
}

describe.concurrent('web', () => {
  it('serves until it is stopped, and shows its token on terminals only', async ({ world }) => {
    const web = world.start(['web', '--port', '0', '--qr']);
    await web.says('The page is at http://127.0.0.1:');
    await web.says('on a terminal only');
    const url = /http:\/\/\S+/.exec(web.soFar)?.[0] ?? '';
    expect(await statusAt(url)).toBe(200);
    expect(await statusAt(`${url}api/v1/session`)).toBe(401);
    expect(web.soFar).not.toContain(token(world));
    const { code, out, err } = await web.kill('SIGTERM');
    expect(code).toBe(0);
    expect(out + err).not.toContain(token(world));
  });

  it('ends all sessions with a new token', async ({ world }) => {
    const web = world.invoke(['web', '--port', '0']);
    await web.says('The page is at');
    const url = /http:\/\/\S+/.exec(web.soFar)?.[0] ?? '';
    const old = token(world);
    expect(await statusAt(`${url}?token=${old}`)).toBe(303);
    const second = world.invoke(['web', '--port', '0', '--new-token']);
    await second.says('The page is at');
    expect(token(world)).not.toBe(old);
    expect(await statusAt(`${url}?token=${old}`)).toBe(403);
    expect(await statusAt(`${url}?token=${token(world)}`)).toBe(303);
    await Promise.all([web.kill('SIGTERM'), second.kill('SIGTERM')]);
  });

  it('changes nothing with --read-only, also if a session asks for it', async ({ world }) => {
    world.plan('p', { tickets: { a: {} } });
    const web = world.invoke(['web', '--port', '0', '--read-only', '--json']);
    await web.says('"web:start"');
    const [{ url } = { url: '' }] = startIn(web.soFar);
    const answer = await fetch(`${url}api/v1/plans/p/tickets/a/pause`, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${token(world)}`, origin: url.slice(0, -1) },
        ...{ 'content-type': 'application/json', 'x-signalbox': '1' },
      },
      body: '{}',
    });
    expect(await answer.json()).toMatchObject({ error: { code: 'web/read-only' } });
    await web.kill('SIGTERM');
  });

  it('shows the address of one that is served already', async ({ world }) => {
    const web = world.start(['web']);
    await web.says('The page is at');
    const url = /http:\/\/\S+/.exec(web.soFar)?.[0] ?? '';
    const second = await world.cli('web');
    expect(second).toMatchObject({ code: 0, out: expect.stringContaining('is already served (pid ') });
    expect(second.out).toContain(url);
    expect(second.out).not.toContain('Other machines');
    // As it is written by one that is served at every address of its machine.
    const file = join(world.stateDir, 'web.json');
    const outside = ['http://192.0.2.7:4747/', 'http://198.51.100.7:4747/'];
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), outside }));
    const third = await world.cli('web');
    expect(third.out).toContain(`Other machines reach it at ${outside.join(' or ')}\n`);
    // One with flags of its own takes nothing from the first.
    const other = world.invoke(['web', '--port', '0', '--read-only']);
    await other.says('The page is at');
    expect((await world.cli('web')).out).toContain(url);
    await other.kill('SIGTERM');
    expect((await world.cli('web')).out).toContain(url);
    await web.kill('SIGTERM');
  });

  it('warns of an address that others reach, and says how else', async ({ world }) => {
    // An address of documentation, which no machine has.
    const { code, err } = await world.cli('web', '--host', '192.0.2.1', '--port', '4801');
    expect(code).toBe(2);
    expect(err).toMatch(/192\.0\.2\.1 can be reached from other machines, and HTTP is not encrypted/);
    expect(err).toMatch(/ssh tunnel \(ssh -L 4801:127\.0\.0\.1:4801 .*a VPN.*reverse proxy/);
    expect(err).toContain('cannot be served at 192.0.2.1');
  });

  it('opens a browser without the token in an argument', async ({ world }) => {
    const seen = join(world.dir, 'opened');
    const body = `printf '%s' "$*" >"${seen}.args"; cp "$1" "${seen}.html"; touch "${seen}"`;
    writeExecutable(join(world.dir, 'bin', 'xdg-open'), body, { log: join(world.dir, 'log'), go: world.dir });
    const PATH = `${join(world.dir, 'bin')}:${process.env.PATH}`;
    const web = world.invoke(['web', '--port', '0', '--open'], { PATH });
    await waitFor('the browser', () => existsSync(seen));
    const file = join(world.home, 'web-open.html');
    expect(readFileSync(`${seen}.args`, 'utf8')).toBe(file);
    expect(readFileSync(`${seen}.html`, 'utf8')).toContain(`?token=${token(world)}"`);
    await web.kill('SIGTERM');
    await waitFor('the end of the file', () => !existsSync(file));
  });

  it('says so where no browser can be opened, and serves', { tags: 'full' }, async ({ world }) => {
    writeExecutable(join(world.dir, 'bin', 'xdg-open'), 'exit 3', {
      log: join(world.dir, 'log'),
      go: world.dir,
    });
    const PATH = `${join(world.dir, 'bin')}:${process.env.PATH}`;
    const web = world.invoke(['web', '--port', '0', '--open'], { PATH });
    await web.says('No browser could be opened');
    await web.kill('SIGTERM');
  });
});

describe('the page of a daemon', () => {
  it('is a process of its own, which is started again and changes nothing about tickets', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', 'note working; go; commit');
    world.workflow('work', [
      { id: 'build', type: 'agent', prompt: 'build it', onSuccess: 'done' },
      { id: 'done', type: 'terminal' },
    ]);
    world.plan('p', { tickets: { a: {} } });
    // The usual port may be taken on this machine; the next free one is used then.
    const daemon = world.start(['daemon', '--web', '--json']);
    await world.call('working');
    await daemon.says('"web:start"');
    const [first] = startIn(daemon.soFar);
    if (!first) throw new Error(daemon.soFar);
    expect(first).toMatchObject({ type: 'web:start', running: false });
    expect(first.pid).not.toBe(daemon.pid);
    expect(await statusAt(first.url)).toBe(200);
    const before = world.ticket('p', 'a');

    sendSignal(first.pid, 'SIGKILL');
    await waitFor('another page', () => startIn(daemon.soFar).length > 1, { state: () => daemon.soFar });
    const second = startIn(daemon.soFar).at(-1);
    expect(second?.pid).not.toBe(first.pid);
    expect(await statusAt(second?.url ?? '')).toBe(200);
    const { claim, phaseHistory } = world.ticket('p', 'a');
    expect({ token: claim?.token, attempts: phaseHistory.length }).toEqual({
      token: before.claim?.token,
      attempts: before.phaseHistory.length,
    });

    // One that hangs is killed with the daemon, and holds nothing up before.
    sendSignal(second?.pid ?? 0, 'SIGSTOP');
    world.go();
    await world.reaches('p', 'a', 'complete');
    const { code } = await daemon.kill('SIGTERM');
    expect(code).toBe(0);
    expect(isRunning(second?.pid ?? 0)).toBe(false);
  });

  it('ends with a daemon that is killed', async ({ world }) => {
    world.plan('p', { status: 'draft', tickets: { a: {} } });
    const daemon = world.start(['daemon', '--web', '--json']);
    await daemon.says('"web:start"');
    const [start] = startIn(daemon.soFar);
    await daemon.kill('SIGKILL');
    await waitFor('the end of the page', () => !isRunning(start?.pid ?? 0));
  });
});

it('a file that is no server’s is not believed', async ({ world }) => {
  const file = join(world.stateDir, 'web.json');
  world.plan('p', { tickets: { a: {} } });
  writeFileSync(file, '{"pid": 1, "url": "http://evil.test/"}');
  const web = world.invoke(['web', '--json']);
  await web.says('"running":false');
  await web.kill('SIGTERM');
});
