import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ROWS } from '../../src/config/settings-table.ts';
import { runCommand, type Scratch, scratch } from './scratch.ts';

function config(room: Scratch, args: string[], env: NodeJS.ProcessEnv = {}) {
  return runCommand(args, {
    cwd: room.path('cwd'),
    env: { HOME: room.path('user'), ...env },
  });
}

describe('config', () => {
  it('prints every setting in columns with where it came from', async () => {
    const room = scratch();
    const text = 'slots: 2\nrepos:\n  acme/api: ../api\n';
    const file = room.write('user/.signalbox/config.yaml', text);
    const { out, code } = await config(room, ['config'], { SIGNALBOX_MAX_CONCURRENCY: '7' });
    expect(code).toBe(0);
    for (const { key } of ROWS) expect(out).toMatch(new RegExp(`^${key}[ .]`, 'm'));
    expect(out).toMatch(new RegExp(`^slots +2 +${file}:1$`, 'm'));
    expect(out).toMatch(/^maxConcurrency +7 +SIGNALBOX_MAX_CONCURRENCY$/m);
    expect(out).toMatch(/^worktreeRoot +null +default$/m);
    expect(out).toMatch(new RegExp(`^repos\\.acme/api +${room.path('user/api')} +${file}:3$`, 'm'));
    expect(out).toMatch(/^caches +\["node_modules",".venv"/m);
  });

  it.each([[['config']], [['config', '--json']]])('%j never shows the value of a variable', async (args) => {
    const room = scratch();
    const text =
      'agents: {mine: {command: x, env: {API_KEY: sk-hidden}}}\nmcpServers: {s: {command: y, env: {T: sk-hidden}}}\n';
    room.write('user/.signalbox/config.yaml', text);
    const { out } = await config(room, args);
    expect(out).not.toContain('sk-hidden');
    expect(out).toContain('API_KEY');
  });

  it('prints JSON by key', async () => {
    const room = scratch();
    const file = room.write('cwd/own.yaml', 'timeouts: {agentSeconds: 5}\n');
    const { out } = await config(room, ['config', '-C', 'own.yaml', '--json']);
    expect(JSON.parse(out)).toMatchObject({
      configFile: file,
      home: room.path('user/.signalbox'),
      settings: {
        'timeouts.agentSeconds': { value: 5, origin: `${file}:1` },
        'agents.claude': { value: { command: 'claude', env: {} }, origin: 'default' },
        mcpServers: { value: {}, origin: 'default' },
      },
      searchPath: { workflows: [room.path('cwd/workflows'), expect.stringMatching(/workflows$/)] },
    });
  });

  it('path prints the file in force', async () => {
    const room = scratch();
    const file = room.write('user/.signalbox/config.yaml', 'not: checked\n');
    expect(await config(room, ['config', 'path'])).toEqual({ out: `${file}\n`, err: '', code: 0 });
    expect(JSON.parse((await config(room, ['config', 'path', '--json'])).out)).toMatchObject({
      configFile: file,
    });
  });

  it('path ends with 1 when there is none, and says where it looked', async () => {
    const room = scratch();
    const said = await config(room, ['config', 'path']);
    expect(said).toMatchObject({ out: '', code: 1 });
    expect(said.err).toContain(room.path('user/.signalbox/config.yaml'));
    expect(said.err).toContain(room.path('cwd/signalbox.yaml'));
  });

  it('trust does what the refusal asks for', async () => {
    const room = scratch();
    room.write('cwd/signalbox.yaml', 'checks: [make]\n');
    const { err } = await config(room, ['config']);
    const command = /run: signalbox (.+)$/m.exec(err)?.[1] ?? '';
    expect((await config(room, command.split(' '))).out).toContain(`Trusted ${room.path('cwd')}`);
    expect((await config(room, ['config', 'trust'])).out).toContain('trusted already');
    expect((await config(room, ['config'])).out).toMatch(/^checks +\["make"\]/m);
    expect(JSON.parse((await config(room, ['config', 'trust', '--json'])).out)).toEqual({
      dir: room.path('cwd'),
      added: false,
    });
    expect(readFileSync(room.path('user/.signalbox/trusted.json'), 'utf8')).toContain(room.path('cwd'));
  });
});

describe('doctor', () => {
  const world = (room: Scratch) => ({
    cwd: room.path('cwd'),
    env: { HOME: room.path('user'), PATH: process.env.PATH },
  });

  it('goes on with the defaults when the config is bad, and ends with 1', async () => {
    const room = scratch();
    room.write('user/.signalbox/config.yaml', 'slot: 1\n');
    const said = await runCommand(['doctor'], world(room));
    expect(said.code).toBe(1);
    expect(said.out).toMatch(/^✗ config +.*config\.yaml:1:1: unknown key "slot"; did you mean "slots"\?$/m);
    expect(said.out).toMatch(/^✓ git +git version/m);
    expect(said.out).toMatch(/^ +→ /m);
  });

  it('prints JSON', async () => {
    const room = scratch();
    room.write('bin/mine', '#!/bin/sh\necho 1.0\n', 0o755);
    room.write(
      'user/.signalbox/config.yaml',
      `agents: {mine: {command: ${room.path('bin/mine')}}}\ndefaultAgent: mine\n`,
    );
    const said = await runCommand(['doctor', '--json'], world(room));
    const { findings } = JSON.parse(said.out) as { ok: boolean; findings: { what: string; level: string }[] };
    expect(findings.find(({ what }) => what === 'agent mine')).toMatchObject({ level: 'ok' });
  });
});
