import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { SUPPORT_COLUMNS } from '../../src/agents/adapter-abilities-table.ts';
import { ADAPTERS } from '../../src/agents/adapters-and-agent-problems.ts';
import type { SurveyedAgent } from '../../src/agents/check-installed-agents.ts';
import type { DoctorFinding } from '../../src/config/doctor/check-programs.ts';
import { runCommand, type Scratch, scratch } from '../config/scratch.ts';
import { CliCall } from '../support/cli-call.ts';

interface Machine {
  /** Bodies of programs on the PATH, by name. */
  programs?: Record<string, string>;
  config?: string;
  env?: Record<string, string>;
}

const tested = (name: string) => ADAPTERS[name]?.program?.tested[1] ?? '';

function ask(room: Scratch, args: string[], { programs = {}, config = '', env = {} }: Machine) {
  for (const [name, body] of Object.entries(programs))
    room.write(`bin/${name}`, `#!/bin/sh\n${body}\n`, 0o755);
  room.write('user/.signalbox/config.yaml', config);
  return runCommand(['doctor', '--agents', ...args], {
    cwd: room.path('cwd'),
    env: { HOME: room.path('user'), PATH: room.path('bin'), ...env },
  });
}

async function look(room: Scratch, machine: Machine) {
  const { out, code } = await ask(room, ['--json'], machine);
  const { ok, agents, findings } = JSON.parse(out) as {
    ok: boolean;
    agents: SurveyedAgent[];
    findings: DoctorFinding[];
  };
  const of = (name: string) => agents.find(({ agent }) => agent === name);
  return { ok, code, out, agents, findings, of };
}

describe('doctor --agents', () => {
  it('shows every CLI that an adapter knows, and every agent of the settings', async () => {
    const room = scratch();
    const { agents, of, code } = await look(room, {
      programs: { claude: `echo "${tested('claude')} (Claude Code)"`, mine: 'exit 9' },
      config: 'agents: {mine: {command: mine}, other: {adapter: codex, command: ./none/codex}}\n',
    });
    const known = Object.values(ADAPTERS).flatMap(({ name, program }) => (program ? [name] : []));
    expect(agents.map(({ agent }) => agent).sort()).toEqual([...known, 'mine', 'other', 'rehearsal'].sort());
    expect(of('claude')).toMatchObject({
      isDefault: true,
      path: room.path('bin/claude'),
      version: tested('claude'),
      standing: 'tested',
    });
    expect(of('mine')).toMatchObject({
      adapter: 'custom',
      version: null,
      problem: null,
      tested: null,
      login: null,
    });
    expect(of('other')).toMatchObject({ adapter: 'codex', path: null });
    expect(code).toBe(0);
  });

  it('keeps a row for a known CLI whose name stands for something else', async () => {
    const { agents } = await look(scratch(), { config: 'agents: {pi: {adapter: custom, command: mine}}\n' });
    expect(agents.filter(({ agent }) => agent === 'pi').map(({ adapter }) => adapter)).toEqual([
      'custom',
      'pi',
    ]);
  });

  it.each([
    ['2.1.41', 'older'],
    ['999.0.0', 'newer'],
  ])('warns of version %s, with the tested one', async (version, word) => {
    const { findings, ok } = await look(scratch(), {
      programs: { claude: `echo ${version}` },
      env: { ANTHROPIC_API_KEY: 'x' },
    });
    expect(findings).toEqual([
      {
        level: 'warn',
        what: 'agent claude',
        detail: `version ${version} is ${word} than what was tested (${tested('claude')})`,
        fix: expect.stringContaining(`@anthropic-ai/claude-code@${tested('claude')}`),
      },
    ]);
    expect(ok).toBe(true);
  });

  it('reports a version below the minimum as a problem of the default agent', async () => {
    const { findings, ok } = await look(scratch(), {
      programs: { claude: 'echo 2.0.0', codex: 'echo 0.1.0' },
      env: { ANTHROPIC_API_KEY: 'x', OPENAI_API_KEY: 'x' },
    });
    expect(findings).toEqual([
      {
        level: 'bad',
        what: 'agent claude',
        detail: expect.stringMatching(/claude is version 2\.0\.0; 2\.1\.41 or newer is needed$/),
        fix: 'Update it: npm install -g @anthropic-ai/claude-code@latest',
      },
      expect.objectContaining({ level: 'warn', what: 'agent codex' }),
    ]);
    expect(ok).toBe(false);
  });

  it.each<[string, Machine['env'], string[], string | null]>([
    ['a variable', { CODEX_API_KEY: 'sk-hidden' }, [], 'CODEX_API_KEY'],
    ['an empty variable', { CODEX_API_KEY: '' }, [], null],
    ['a file', {}, ['user/.codex/auth.json'], '~/.codex/auth.json'],
    ['a file elsewhere', { CODEX_HOME: '{dir}/moved' }, ['moved/auth.json'], '$CODEX_HOME/auth.json'],
    ['a file where it is not looked for', { CODEX_HOME: '{dir}/moved' }, ['user/.codex/auth.json'], null],
    ['nothing', {}, [], null],
  ])('sees a login by %s, and never what is in it', async (_name, env, files, by) => {
    const room = scratch();
    for (const file of files) room.write(file, '{"token":"sk-hidden"}');
    const filled = Object.fromEntries(
      Object.entries(env ?? {}).map(([name, value]) => [name, value.replace('{dir}', room.dir)]),
    );
    const { of, out, findings } = await look(room, {
      programs: { codex: `echo codex-cli ${tested('codex')}` },
      config: 'defaultAgent: codex\n',
      env: filled,
    });
    expect(of('codex')?.login).toEqual({ seen: by !== null, by });
    expect(findings.map(({ detail }) => detail)).toEqual(by === null ? ['no sign of a login'] : []);
    expect(out).not.toContain('sk-hidden');
  });

  it('sees the login that an entry brings', async () => {
    const config = 'agents: {claude: {env: {ANTHROPIC_API_KEY: sk-hidden}}}\n';
    const { of, out } = await look(scratch(), { programs: { claude: 'echo 2.1.325' }, config });
    expect(of('claude')?.login).toEqual({ seen: true, by: 'ANTHROPIC_API_KEY' });
    expect(out).not.toContain('sk-hidden');
  });

  it('asks for versions without any key, and says why one told none', async () => {
    const room = scratch();
    const { of, findings } = await look(room, {
      programs: {
        claude: 'echo "key=$ANTHROPIC_API_KEY." >&2; echo 2.1.325',
        codex: `echo "[$CODEX_API_KEY$OWN]" > ${room.path('seen')}; echo nothing`,
        gemini: 'exit 3',
      },
      config: 'agents: {codex: {env: {OWN: sk-hidden}}}\n',
      env: { ANTHROPIC_API_KEY: 'sk-hidden', CODEX_API_KEY: 'sk-hidden', GEMINI_API_KEY: 'sk-hidden' },
    });
    expect(readFileSync(room.path('seen'), 'utf8')).toBe('[]\n');
    expect(of('claude')).toMatchObject({ version: '2.1.325', problem: null });
    expect(of('codex')).toMatchObject({ version: null, standing: null, problem: 'printed no version' });
    expect(of('gemini')).toMatchObject({ version: null, problem: 'ended with code 3' });
    expect(findings.map(({ what, level }) => [what, level])).toEqual([
      ['agent codex', 'warn'],
      ['agent gemini', 'warn'],
    ]);
  });

  it('ends with 1 when the default agent is missing, and is quiet about those nobody asked for', async () => {
    const { findings, code } = await look(scratch(), {
      config: 'agents: {opencode: {model: a/b}}\n',
    });
    expect(findings.map(({ what, level }) => [what, level])).toEqual([
      ['agent claude', 'bad'],
      ['agent opencode', 'warn'],
    ]);
    expect(findings[0]?.fix).toContain('npm install -g @anthropic-ai/claude-code');
    expect(code).toBe(1);
  });

  it('goes on with the defaults when the config is bad', async () => {
    const { out, code } = await ask(scratch(), [], {
      programs: { claude: 'echo 2.1.325' },
      config: 'slot: 1\n',
    });
    expect(out).toMatch(/^✗ config .*unknown key "slot"/m);
    expect(out).toMatch(/^claude \(default\) +2\.1\.325/m);
    expect(code).toBe(1);
  });

  it('prints a table of what is there and one of what each adapter declares', async () => {
    const room = scratch();
    const { out } = await ask(room, [], {
      programs: { claude: 'echo 2.1.50', mine: '' },
      config: 'agents: {mine: {command: mine}}\n',
      env: { ANTHROPIC_API_KEY: 'x' },
    });
    const [found = '', supports = '', notes = ''] = out.split('\n\n');
    expect(found).toMatch(/^AGENT +ADAPTER +VERSION +TESTED +LOGGED IN +FOUND$/m);
    expect(found).toMatch(
      new RegExp(
        `^claude \\(default\\) +2\\.1\\.50 +${tested('claude')} +yes \\(ANTHROPIC_API_KEY\\) +${room.path('bin/claude')}$`,
        'm',
      ),
    );
    expect(found).toMatch(new RegExp(`^mine +custom +${room.path('bin/mine')}$`, 'm'));
    expect(found).toMatch(/^gemini +[\d.]+ +no$/m);
    for (const { title } of SUPPORT_COLUMNS) expect(supports).toContain(title.toUpperCase());
    expect(supports).toMatch(/^claude +schema flag +yes .* stream +read, write, full$/m);
    expect(supports).toMatch(/^gemini +tagged block +yes +yes +no +no /m);
    expect(supports).toMatch(/^custom +tagged block +no +passed on /m);
    expect(notes).toMatch(/^! agent claude +version 2\.1\.50 is older/);
  });

  it('breaks no word on a terminal, however narrow', { tags: 'full' }, async () => {
    const room = scratch();
    room.write('bin/claude', '#!/bin/sh\necho "1.0.0 (Claude Code)"\n', 0o755);
    const env = { HOME: room.path('user'), PATH: room.path('bin'), NO_COLOR: '1' };
    for (const args of [['doctor'], ['doctor', '--agents']]) {
      const { out } = await new CliCall(args, { cwd: room.path('cwd'), env, columns: 80 }).ended;
      const long = out.split('\n').filter((line) => line.length > 80 && !/^\s*\S+$/.test(line));
      expect(long).toEqual([]);
    }
  });
});
