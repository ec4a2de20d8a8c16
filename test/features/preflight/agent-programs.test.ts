import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { ADAPTERS } from '../../../src/agents/adapters-and-agent-problems.ts';
import { agentReadiness } from '../../../src/agents/check-installed-agents.ts';
import { outdated } from '../../../src/agents/program-versions.ts';
import { loadSettings } from '../../../src/config/load-settings.ts';
import { it, type World } from '../../support/index.ts';
import { BUILD, program } from './support.ts';

describe.concurrent('an agent CLI', () => {
  const options = async (world: World, env: NodeJS.ProcessEnv) => {
    const all = { ...world.env, ...env };
    const settings = await loadSettings({ cwd: world.dir, env: all, packageDir: world.dir });
    const versionsFile = join(world.dir, 'versions.json');
    return {
      agent: settings.agents.claude,
      given: { settings, env: all, allow: [], cwd: world.dir, versionsFile, now: '2026-01-01T12:00:00.000Z' },
    };
  };

  it('that says it is not logged in is an error; a sign of a login is enough', async ({ world }) => {
    const env = program(
      world,
      'claude',
      `echo "$*" >> ${world.dir}/asked; [ $1 = auth ] && echo '{ "loggedIn": false }'; exit 1`,
    );
    const { agent, given } = await options(world, env);
    if (!agent) throw new Error('There is no agent claude.');
    expect(await agentReadiness(agent, given)).toContainEqual(
      expect.objectContaining({
        level: 'bad',
        what: 'agent claude',
        detail: expect.stringContaining('is not logged in'),
      }),
    );
    expect(world.read('asked')).toContain('auth status\n');
    world.remove(join(world.dir, 'asked'));
    const keyed = { ...given, env: { ...given.env, ANTHROPIC_API_KEY: 'some' } };
    expect(await agentReadiness(agent, keyed)).toEqual([]);
    expect(existsSync(join(world.dir, 'asked')) ? world.read('asked') : '').not.toContain('auth');
  });

  it('that does not answer is not refused: what is unknown is no error', async ({ world }) => {
    const { agent, given } = await options(
      world,
      program(world, 'claude', 'echo no such command >&2; exit 1'),
    );
    if (!agent) throw new Error('There is no agent claude.');
    expect(await agentReadiness(agent, given)).toEqual([]);
  });

  it('that is too old is an error with the command that updates it', () => {
    const claude = { minimum: '2.0.9', package: '@anthropic-ai/claude-code' };
    expect(outdated(claude, '/bin/claude', '2.0.8')).toEqual({
      level: 'bad',
      detail: '/bin/claude is version 2.0.8; 2.0.9 or newer is needed',
      fix: 'Update it: npm install -g @anthropic-ai/claude-code@latest',
    });
    expect(outdated(claude, '/bin/claude', '2.0.9')).toBeUndefined();
    expect(outdated(claude, '/bin/claude', '10.0.0')).toBeUndefined();
  });

  it('of the package that pi had before is removed first: npm does not replace a command of another package', ({
    world,
  }) => {
    const program = ADAPTERS.pi?.program;
    if (!program) throw new Error('There is no program pi.');
    const installed = (name: string) => {
      const file = join(world.dir, 'lib', 'node_modules', name, 'dist', 'cli.js');
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, '');
      const path = join(world.dir, 'pi');
      world.remove(path);
      symlinkSync(file, path);
      return outdated(program, path, '0.1.0')?.fix;
    };
    const install = 'npm install -g @earendil-works/pi-coding-agent@latest';
    expect(installed('@mariozechner/pi-coding-agent')).toBe(
      `Update it: npm uninstall -g @mariozechner/pi-coding-agent && ${install}`,
    );
    expect(installed('@earendil-works/pi-coding-agent')).toBe(`Update it: ${install}`);
  });

  it('whose login may be elsewhere is started with a warning', async ({ world }) => {
    const env = program(
      world,
      'codex',
      '[ "$1" = login ] && echo "Not logged in"; [ "$1" = --version ] && echo codex-cli 999.0.0',
    );
    world.workflow('work', [{ ...BUILD, agent: 'codex', maxRetries: 0 }]);
    world.plan('p', { tickets: { a: {} } });
    const { out } = await world.invoke(['run', 'p', '--plain'], env).ended;
    expect(out).toMatch(/✗ p: Agent codex: .*\/codex is not logged in\./);
    expect(out).toContain('build started (codex)');
  });

  it('is asked for its version outside of the repository, whose settings count for its login alone', async ({
    world,
  }) => {
    const asked = join(world.dir, 'asked');
    const { agent, given } = await options(
      world,
      program(world, 'claude', `echo "$1 $PWD" >> ${asked}; echo 999.0.0`),
    );
    if (!agent) throw new Error('There is no agent claude.');
    await agentReadiness(agent, given);
    expect(world.read('asked').trim().split('\n').sort()).toEqual(['--version /', `auth ${world.dir}`]);
  });

  it('is asked for its version once an hour', async ({ world }) => {
    const env = program(world, 'claude', `echo "$*" >> ${world.dir}/asked; echo 999.0.0`);
    const { agent, given } = await options(world, { ...env, ANTHROPIC_API_KEY: 'some' });
    if (!agent) throw new Error('There is no agent claude.');
    const asked = async (now: string) => {
      expect(await agentReadiness(agent, { ...given, now })).toEqual([]);
      return world.read('asked').split('\n').length - 1;
    };
    expect(await asked('2026-01-01T12:00:00.000Z')).toBe(1);
    expect(await asked('2026-01-01T12:59:59.000Z')).toBe(1);
    expect(await asked('2026-01-01T13:00:00.000Z')).toBe(2);
    expect(await asked('2026-01-01T12:00:00.000Z'), 'after the clock was set back').toBe(3);
  });

  it('behind a shim, which an update does not change, is asked again before it is refused', async ({
    world,
  }) => {
    const env = program(world, 'claude', `cat ${world.dir}/version`);
    const { agent, given } = await options(world, { ...env, ANTHROPIC_API_KEY: 'some' });
    if (!agent) throw new Error('There is no agent claude.');
    writeFileSync(join(world.dir, 'version'), '0.0.1\n');
    expect(await agentReadiness(agent, given)).toMatchObject([
      { level: 'bad', detail: expect.stringContaining('0.0.1') },
    ]);
    writeFileSync(join(world.dir, 'version'), '999.0.0\n');
    expect(await agentReadiness(agent, given)).toEqual([]);
  });
});
