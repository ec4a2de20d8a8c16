import { existsSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { agentFindings, surveyAgents } from '../../../src/agents/check-installed-agents.ts';
import type { DoctorFinding } from '../../../src/config/doctor/check-programs.ts';
import { type DoctorOptions, examine, isHealthy } from '../../../src/config/doctor/doctor.ts';
import { findExecutable, probe } from '../../../src/machine/find-and-probe-program.ts';
import { processStart } from '../../../src/machine/process-identity-and-signals.ts';
import { InputError } from '../../../src/model/errors.ts';
import { type Scratch, scratch } from '../scratch.ts';

const GOOD = {
  git: 'echo git version 2.39.5',
  claude: 'echo 2.1.0',
  tmux: 'echo tmux 3.3a',
  gh: 'echo gh version 2.40.0',
};
const VALID = [{ file: '/w/local.yaml', name: 'local', problems: [] }];

interface Case {
  programs?: Record<string, string>;
  config?: string;
  env?: Record<string, string>;
  options?: Partial<DoctorOptions>;
}

/** A machine that has just these programs on its PATH. */
async function look(room: Scratch, { programs = GOOD, config = '', env = {}, options = {} }: Case) {
  const { write, path, load } = room;
  for (const [name, body] of Object.entries(programs)) write(`bin/${name}`, `#!/bin/sh\n${body}\n`, 0o755);
  write('user/.signalbox/config.yaml', config);
  const all = { HOME: path('user'), PATH: path('bin'), ...env };
  const findings = await examine({
    settings: await load({ env: all }),
    configError: null,
    env: all,
    nodeVersion: '20.19.0',
    checkWorkflows: async () => VALID,
    ...options,
  });
  return { findings, of: (what: string) => findings.find((finding) => finding.what === what) };
}

describe('doctor', () => {
  it('finds a good machine good', async () => {
    const room = scratch();
    const { findings, of } = await look(room, { env: { GH_TOKEN: 'x' } });
    expect(findings.filter(({ level }) => level !== 'ok')).toEqual([]);
    expect(findings.map(({ what }) => what)).toEqual([
      'node',
      'git',
      'tmux',
      'gh',
      'agent claude',
      'config',
      'state',
      'disk',
      'workflows',
    ]);
    expect(of('agent claude')?.detail).toBe(`2.1.0 (${room.path('bin/claude')})`);
    expect(of('state')?.detail).toContain('will be made');
    expect(existsSync(room.path('user/.signalbox/state'))).toBe(false);
    expect(isHealthy(findings)).toBe(true);
  });

  it.runIf(process.platform === 'linux')(
    'recommends the sandbox where it works, until an agent uses it',
    async () => {
      const bwrap = { ...GOOD, bwrap: 'exit 0' };
      const { findings, of } = await look(scratch(), { programs: bwrap });
      expect(of('sandbox')).toMatchObject({
        level: 'warn',
        fix: expect.stringContaining('set agents.claude.sandbox to bwrap. See docs/security.md.'),
      });
      expect(isHealthy(findings)).toBe(true);
      const used = await look(scratch(), { programs: bwrap, config: 'agents: {claude: {sandbox: bwrap}}' });
      expect(used.of('sandbox')).toMatchObject({ level: 'ok' });
      for (const programs of [GOOD, { ...GOOD, bwrap: 'exit 1' }])
        expect((await look(scratch(), { programs })).of('sandbox')).toBeUndefined();
    },
  );

  const { claude: _claude, ...noClaude } = GOOD;
  const { git: _git, ...noGit } = GOOD;
  const { tmux: _tmux, ...noTmux } = GOOD;
  it.each<[string, Case, string, Partial<DoctorFinding>]>([
    [
      'an old node',
      { options: { nodeVersion: '18.20.1' } },
      'node',
      { level: 'bad', fix: 'Install Node 20.19 or newer.' },
    ],
    ['a new node', { options: { nodeVersion: '24.0.0' } }, 'node', { level: 'ok' }],
    [
      'no git',
      { programs: noGit },
      'git',
      { level: 'bad', detail: 'not found on PATH', fix: expect.stringContaining('merge-tree') },
    ],
    [
      'an old git',
      { programs: { ...GOOD, git: 'echo git version 2.34.1' } },
      'git',
      { level: 'bad', detail: 'git version 2.34.1' },
    ],
    [
      'a broken git',
      { programs: { ...GOOD, git: 'exit 3' } },
      'git',
      { level: 'bad', detail: expect.stringContaining('code 3') },
    ],
    ['no tmux', { programs: noTmux }, 'tmux', { level: 'warn', detail: 'tmux not found' }],
    ['a tmux that says nothing', { programs: { ...GOOD, tmux: '' } }, 'tmux', { level: 'ok' }],
    ['no gh of that name', { config: 'ghCommand: hub\n' }, 'gh', { level: 'warn', detail: 'hub not found' }],
    [
      'no default agent',
      { programs: noClaude },
      'agent claude',
      { level: 'bad', detail: 'claude not found on PATH', fix: expect.stringContaining('npm install -g') },
    ],
    [
      'no other agent',
      { config: 'agents: {mine: {command: ./mine}}\n' },
      'agent mine',
      { level: 'warn', fix: expect.stringContaining('agents.mine.command') },
    ],
    [
      'a command with arguments',
      { config: 'agents: {mine: {command: npx mine}}\n' },
      'agent mine',
      { fix: expect.stringContaining('defaultArgs') },
    ],
    [
      'an agent that fails',
      { programs: { ...GOOD, claude: 'exit 7' } },
      'agent claude',
      { level: 'warn', detail: expect.stringContaining('code 7') },
    ],
    [
      'an agent that hangs',
      { programs: { ...GOOD, claude: 'exec /bin/sleep 60' }, options: { timeoutMs: 100 } },
      'agent claude',
      { level: 'warn', detail: expect.stringContaining('no answer in 0.1 s') },
    ],
    [
      'a misspelt variable',
      { env: { SIGNALBOX_MAX_CONCURENCY: '4' } },
      'environment',
      { level: 'warn', fix: 'Did you mean SIGNALBOX_MAX_CONCURRENCY?' },
    ],
    [
      'a state directory that is a file',
      { config: 'stateDir: config.yaml\n' },
      'state',
      { level: 'bad', detail: expect.stringContaining('cannot be written (it is no directory)') },
    ],
    [
      'a state directory below a file',
      { config: 'stateDir: config.yaml/state\n' },
      'state',
      { level: 'bad' },
    ],
    [
      'a state directory where none can be made',
      { config: 'stateDir: /proc/signalbox/state\n' },
      'state',
      { level: 'bad', detail: expect.stringContaining('/proc cannot be written') },
    ],
    [
      'a state directory that refuses files',
      { config: 'stateDir: /sys\n' },
      'state',
      { level: 'bad', detail: '/sys cannot be written (permission denied)' },
    ],
    [
      'a tmux that hangs',
      { programs: { ...GOOD, tmux: 'exec /bin/sleep 60' }, options: { timeoutMs: 100 } },
      'tmux',
      { level: 'warn', fix: expect.stringMatching(/^Run it by hand to see why: \S+\/tmux -V$/) },
    ],
    [
      'a gh that nobody is logged in to',
      {},
      'gh',
      {
        level: 'warn',
        detail: expect.stringContaining('no sign of a login'),
        fix: expect.stringContaining('gh auth login'),
      },
    ],
    [
      'a gh with a token',
      { env: { GITHUB_TOKEN: 'x' } },
      'gh',
      { level: 'ok', detail: expect.stringContaining('login by GITHUB_TOKEN, not tried') },
    ],
    [
      'no workflow',
      { options: { checkWorkflows: async () => [] } },
      'workflows',
      { level: 'bad', detail: 'none found' },
    ],
    [
      'workflows that cannot be looked at',
      { options: { checkWorkflows: () => Promise.reject(new Error('broken')) } },
      'workflows',
      { level: 'bad', detail: 'broken' },
    ],
    [
      'a bad config',
      { options: { configError: new InputError('config/value', 'c.yaml:1:1: no.', { hint: 'do' }) } },
      'config',
      { level: 'bad', detail: 'c.yaml:1:1: no.', fix: 'do' },
    ],
  ])('%s', async (_name, machine, what, expected) => {
    const { of } = await look(scratch(), machine);
    expect(of(what)).toMatchObject(expected);
  });

  it.each<[string, (room: Scratch) => string, (file: string) => Partial<DoctorFinding>]>([
    [
      'is not executable',
      ({ write }) => write('mine', '#!/bin/sh\n', 0o644),
      (file) => ({ detail: `${file} is not executable`, fix: `Run: chmod +x ${file}` }),
    ],
    [
      'is a directory',
      ({ path }) => path('user'),
      (file) => ({
        detail: `${file} is a directory`,
        fix: 'Name the program itself in agents.mine.command.',
      }),
    ],
    [
      'has no interpreter',
      ({ write }) => write('mine', '#! /nowhere/python -u\n', 0o755),
      (file) => ({
        detail: `${file} cannot be started: its first line names /nowhere/python, which is not there`,
        fix: 'Install /nowhere/python, or correct the first line.',
      }),
    ],
    [
      'has no interpreter on PATH',
      ({ write }) => write('mine', '#!/usr/bin/env nosuch\n', 0o755),
      () => ({ fix: 'Install nosuch, or correct the first line.' }),
    ],
  ])('a program that %s', async (_name, make, expected) => {
    const room = scratch();
    const file = make(room);
    for (const adapter of ['custom', 'claude']) {
      const config = `agents: {mine: {adapter: ${adapter}, command: ${file}}}\n`;
      const { of } = await look(room, { config });
      expect(of('agent mine')).toMatchObject({ level: 'warn', ...expected(file) });
      const settings = await room.load({ env: { HOME: room.path('user') } });
      const surveyed = await surveyAgents({ settings, env: { PATH: room.path('bin') } });
      const findings = agentFindings(surveyed.filter(({ agent }) => agent === 'mine'));
      expect(findings).toMatchObject([{ level: 'warn', ...expected(file) }]);
    }
  });

  it('sees that gh has hosts, without reading them', async () => {
    const room = scratch();
    const file = room.write('user/.config/gh/hosts.yml', '{}\n');
    expect((await look(room, {})).of('gh')?.level).toBe('warn');
    room.write('user/.config/gh/hosts.yml', 'github.com:\n  user: me\n');
    expect((await look(room, {})).of('gh')).toMatchObject({
      level: 'ok',
      detail: expect.stringContaining(`login by ${file}`),
    });
  });

  it('names the place of a workflow’s first problem', async () => {
    const problems = [
      { line: 4, column: 2, message: 'no phase "x".', hint: 'Did you mean "y"?' },
      { line: 9, column: 1, message: 'more.' },
    ];
    const hidden = { file: '/bundled/local.yaml', name: 'local', problems: [], shadowedBy: '/w/local.yaml' };
    const reports = [...VALID, hidden, { file: '/w/bad.yaml', name: 'bad', problems }];
    const { findings, of } = await look(scratch(), { options: { checkWorkflows: async () => reports } });
    expect(of('workflows')?.detail).toBe('1 valid');
    expect(of('workflow bad')).toEqual({
      level: 'bad',
      what: 'workflow bad',
      detail: '/w/bad.yaml:4:2: no phase "x". (and 1 more)',
      fix: 'Did you mean "y"?',
    });
    expect(isHealthy(findings)).toBe(false);
  });

  it('asks an agent with its own PATH, and never shows it a key', async () => {
    const room = scratch();
    room.write('other/mine', '#!/bin/sh\necho "[$API_KEY$OWN_KEY]"\n', 0o755);
    const { of } = await look(room, {
      config: `agents: {mine: {adapter: claude, command: mine, env: {PATH: ${room.path('other')}, OWN_KEY: secret}}}\n`,
      env: { API_KEY: 'secret' },
    });
    expect(of('agent mine')).toMatchObject({ level: 'ok', detail: `[] (${room.path('other/mine')})` });
  });

  it('does not call a command of one’s own, which might begin to work', async () => {
    const room = scratch();
    const file = room.write('bin/mine', `#!/bin/sh\necho worked > ${room.path('worked')}\n`, 0o755);
    const { of } = await look(room, { config: 'agents: {mine: {command: mine}}\n' });
    expect(of('agent mine')).toMatchObject({ level: 'ok', detail: `found (${file})` });
    expect(existsSync(room.path('worked'))).toBe(false);
  });

  it('does not call the bundled agent to ask for a version', async () => {
    const room = scratch();
    room.write('package/dist/rehearsal.js', '#!/bin/sh\nexit 9\n', 0o755);
    const { of } = await look(room, {});
    expect(of('agent rehearsal')).toMatchObject({ level: 'ok', detail: expect.stringContaining('bundled') });
  });
});

describe('probe', () => {
  it('asks in an empty directory, which goes with what was left in it', async () => {
    const { write } = scratch();
    const file = write('litters', '#!/bin/sh\nls -A | wc -l\npwd >&2\ntouch litter\n', 0o755);
    expect(await probe(file, [], {})).toEqual({ ok: true, line: '0' });
    const where = write('where', '#!/bin/sh\ntouch litter\npwd\n', 0o755);
    const asked = await probe(where, [], {});
    expect(asked).toMatchObject({ ok: true, line: expect.stringContaining('signalbox-doctor-') });
    expect(existsSync(asked.ok ? asked.line : '/')).toBe(false);
  });

  it('does not wait for what a program leaves behind, and ends it', async () => {
    const { write } = scratch();
    const file = write('leaky', '#!/bin/sh\n/bin/sleep 60 &\necho $!\n', 0o755);
    const result = await probe(file, [], {}, 30_000);
    expect(result).toMatchObject({ ok: true, line: expect.stringMatching(/^\d+$/) });
    const left = Number(result.ok && result.line);
    await vi.waitFor(() => expect(processStart(left)).toBeUndefined());
  });

  it('takes the first line with text in it, without colours, from either stream', async () => {
    const { write } = scratch();
    const file = write('loud', "#!/bin/sh\nprintf '\\n\\033[32m v1.2 \\033[0m\\nmore\\n' >&2\n", 0o755);
    expect(await probe(file, [], {})).toEqual({ ok: true, line: 'v1.2' });
  });

  it('prefers what is printed to a warning before it', async () => {
    const { write } = scratch();
    const file = write('warns', '#!/bin/sh\necho "WARNING: 9.9.9" >&2\necho tool 1.2.3\n', 0o755);
    expect(await probe(file, [], {})).toEqual({ ok: true, line: 'tool 1.2.3' });
  });

  it('keeps little of endless output', async () => {
    const { write } = scratch();
    const file = write('endless', '#!/bin/sh\nwhile :; do echo noise; done\n', 0o755);
    expect(await probe(file, [], {}, 200)).toMatchObject({ ok: false });
  });

  it('reports a file that cannot be started', async () => {
    const { write } = scratch();
    const file = write('nothing', '#!/no/such/interpreter\n', 0o755);
    expect(await probe(file, [], {})).toMatchObject({ ok: false, reason: expect.stringContaining('ENOENT') });
  });
});

describe('findExecutable', () => {
  it('takes the first executable file on PATH, and no relative directory', () => {
    const { write, path } = scratch();
    write('a/tool', '', 0o644);
    write('b/tool/file', '');
    const tool = write('c/tool', '', 0o755);
    const PATH = ['', '.', 'c', path('a'), path('b'), path('gone'), path('c')].join(':');
    expect(findExecutable('tool', { PATH })).toBe(tool);
    expect(findExecutable('other', { PATH })).toBeUndefined();
    expect(findExecutable(tool, {})).toBe(tool);
    expect(findExecutable(path('a/tool'), {})).toBeUndefined();
  });
});
