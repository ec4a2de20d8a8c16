import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectedTo } from '../../src/machine/detect-calls-from-jobs.ts';

const stateDir = mkdtempSync(join(tmpdir(), 'signalbox-test-state-'));
const CONNECT = `require('node:net').connect(Number(process.argv[1]), process.argv[2]).on('close', () => process.exit())`;

let server: Server;
beforeAll(async () => {
  server = createServer();
  await new Promise<void>((done) => server.listen(0, '::', done));
});
afterAll(() => {
  server.close();
  rmSync(stateDir, { recursive: true });
});

/** What a process that connects is taken for; `sh` starts it with this environment. */
async function fromProcess(
  env: Record<string, string>,
  command: string,
  address = '127.0.0.1',
): Promise<string> {
  const { port } = server.address() as AddressInfo;
  const connected = new Promise<Socket>((done) => server.once('connection', done));
  const node = `"${process.execPath}" -e "${CONNECT}" ${port} ${address}`;
  const child = spawn('/bin/sh', ['-c', command.replace('NODE', node)], {
    env: { PATH: process.env.PATH, ...env },
  });
  const socket = await connected;
  const found = connectedTo(socket, stateDir);
  const ended = new Promise((done) => child.once('close', done));
  socket.destroy();
  await ended;
  return found;
}

describe.runIf(process.platform === 'linux')('the other end of a connection', () => {
  const job = { SIGNALBOX_JOB: join(stateDir, 'jobs', 'p', 'a', 'x.1.1') };

  it('is found to be a job, over every kind of address', async () => {
    for (const address of ['127.0.0.1', '::1', 'localhost'])
      expect(await fromProcess(job, 'exec NODE', address), address).toBe('job');
  });

  it('is found to descend from a job, although it has dropped the mark', async () => {
    expect(await fromProcess(job, 'env -u SIGNALBOX_JOB NODE; true')).toBe('job');
  });

  it('is no job of another state directory, and no other process', async () => {
    expect(await fromProcess({ SIGNALBOX_JOB: `${stateDir}-other/jobs/x` }, 'exec NODE')).toBe('other');
    expect(await fromProcess({}, 'exec NODE')).toBe('other');
  });

  it('is gone if it closed the connection before it was looked at, over every address of this machine', async () => {
    const { port } = server.address() as AddressInfo;
    for (const address of ['127.0.0.1', '127.0.0.2', '::1']) {
      const connected = new Promise<Socket>((done) => server.once('connection', done));
      const client = connect(port, address);
      const socket = await connected;
      const closed = new Promise((done) => client.once('close', done));
      client.destroy();
      await closed;
      expect(connectedTo(socket, stateDir), address).toBe('gone');
      socket.destroy();
    }
    const far = { remoteAddress: '192.0.2.1', remotePort: 9, localAddress: '127.0.0.1', localPort: port };
    expect(connectedTo(far, stateDir)).toBe('other');
    expect(connectedTo({}, stateDir)).toBe('gone');
  });
});
