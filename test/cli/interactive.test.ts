import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { PlanningSession } from '../../src/features/planning/prepare-planning-session.ts';
import { PINNED } from '../../tools/agents/pinned.mjs';
import { cliIn, errorIn, it, type World } from './support.ts';

/** A directory for PATH with these programs, and with git and node. */
function programs(world: World, ...names: string[]): NodeJS.ProcessEnv {
  const dir = join(world.dir, 'programs');
  mkdirSync(dir, { recursive: true });
  for (const name of names) {
    writeFileSync(join(dir, name), '#!/bin/sh\n');
    chmodSync(join(dir, name), 0o755);
  }
  return { PATH: `${dir}:/usr/bin:/bin` };
}

async function planned(world: World, env: NodeJS.ProcessEnv, ...args: string[]): Promise<PlanningSession> {
  const ended = await cliIn(world, world.repo, ['interactive', '--json', ...args], env);
  expect(ended.err).toBe('');
  return JSON.parse(ended.out) as PlanningSession;
}

/** As one writes it in the settings. */
const variable = (name: string) => `\${${name}}`;

const promptOf = (session: PlanningSession) =>
  session.files.flatMap((file) =>
    'text' in file && file.path.endsWith('planner.md') ? [file.text] : [],
  )[0] ?? '';

describe.concurrent('interactive', () => {
  it('plans with pi when that is installed, else with the next', { tags: 'full' }, async ({ world }) => {
    expect((await planned(world, programs(world, 'gemini'))).agent).toBe('gemini');
    expect((await planned(world, programs(world, 'opencode'))).agent).toBe('opencode');
    expect((await planned(world, programs(world, 'codex'))).agent).toBe('codex');
    expect((await planned(world, programs(world, 'claude'))).agent).toBe('claude');
    expect((await planned(world, programs(world, 'pi'))).agent).toBe('pi');
    expect((await planned(world, programs(world), '--agent', 'codex')).agent).toBe('codex');
  });

  it('says how to install one when there is none, or not the one that was asked for', async ({ world }) => {
    const none = await cliIn(world, world.repo, ['interactive', '--json'], programs(world));
    expect(none.code).toBe(2);
    const { message, hint } = errorIn(none);
    expect(message).toBe('No agent that can plan is installed.');
    for (const { package: name } of Object.values(PINNED)) expect(hint).toContain(`npm install -g ${name}\n`);
    const args = ['interactive', '--agent', 'claude', '--json'];
    const other = await cliIn(world, world.repo, args, programs(world, 'pi'));
    expect(errorIn(other).hint).toContain('npm install -g @anthropic-ai/claude-code');
  });

  it('starts in the current directory, with our command on the PATH and the same state', async ({
    world,
  }) => {
    const { cwd, env, files, argv } = await planned(world, programs(world, 'pi'));
    expect(cwd).toBe(world.repo);
    expect(env.PATH).toMatch(/^<session>\/bin:/);
    expect(env).toMatchObject({
      SIGNALBOX_STATE_DIR: world.stateDir,
      SIGNALBOX_CONFIG: join(world.home, 'config.yaml'),
    });
    const bin = files.find(({ path }) => path === '<session>/bin/signalbox');
    expect(bin).toMatchObject({
      mode: 0o700,
      text: expect.stringMatching(/^#!\/bin\/sh\nexec '.*node.*' '.*\/dist\/cli\.cjs' "\$@"\n$/),
    });
    for (const name of ['planner', 'cli', 'config', 'workflows', 'linear', 'github-issues', 'markdown'])
      expect(
        argv.some((arg) => arg.endsWith(`/${name}`)),
        name,
      ).toBe(true);
    expect(readdirSync(world.home)).not.toContain('planner');
  });

  it('tells the agent what is settled and what is not', { tags: 'full' }, async ({ world }) => {
    world.workflow('work', [{ id: 'done', type: 'terminal' }]);
    const env = programs(world, 'pi');
    const open = promptOf(await planned(world, env));
    expect(open).toContain(`- Repository: ${world.repo}\n`);
    expect(open).toContain('- Workflow: work unless the person wants another:\n');
    expect(open).toContain('- local: Implement, check, review');
    expect(open).not.toContain('MCP servers of this session');
    const settled = promptOf(await planned(world, env, '--workflow', 'local', '--repo', '.'));
    expect(settled).toContain('- Workflow: local\n');
    const outside = await cliIn(world, world.dir, ['interactive', '--json'], env);
    expect(promptOf(JSON.parse(outside.out))).toContain('- Repository: not settled.');
    world.prompt('planner.md', 'Mine: {{ repo }}');
    expect(promptOf(await planned(world, env))).toBe(`Mine: ${world.repo}`);
  });

  it('shows no secret, and fills variables in for the session alone', { tags: 'full' }, async ({ world }) => {
    world.config({
      agents: {
        claude: {
          env: { ANTHROPIC_API_KEY: 'sk-very-secret' },
          defaultArgs: ['--key', 'sk-live-s3cret', '--header=X: s3cret', '--settings', 'mine.json'],
        },
      },
      mcpServers: {
        linear: {
          command: 'npx',
          args: ['--header', 'X-Linear: s3cret', '--key', 's3cret'],
          env: { KEY: 's3cret' },
        },
        other: { command: 'other', env: { TOKEN: variable('MY_TOKEN'), NONE: variable('NOT_SET') } },
      },
    });
    const env = { ...programs(world, 'claude'), MY_TOKEN: 's3cret' };
    for (const flag of ['--json', '--dry-run']) {
      const { out, code } = await cliIn(world, world.repo, ['interactive', flag], env);
      expect(code).toBe(0);
      expect(out).toContain('ANTHROPIC_API_KEY');
      expect(out).not.toMatch(/s3cret|very-secret/);
      expect(out).toContain('mine.json');
      expect(out).toContain('NOT_SET is not set, and the MCP server other asks for it.');
    }
  });

  it('refuses what is not there, and to start without a terminal', { tags: 'full' }, async ({ world }) => {
    const env = programs(world, 'pi');
    for (const [args, code] of [
      [['--agent', 'cluade'], 'agent/unknown'],
      [['--agent', 'rehearsal'], 'agent/planner'],
      [['--workflow', 'wrok'], 'workflow/unknown'],
      [['--repo', '..'], 'workspace/not-a-repo'],
    ] as const) {
      const ended = await cliIn(world, world.repo, ['interactive', '--json', ...args], env);
      expect(errorIn(ended).code, args.join(' ')).toContain(code);
    }
    const nowhere = await cliIn(world, world.repo, ['interactive', '--json', '--repo', '/nope'], env);
    expect(nowhere.code).toBe(2);
    expect(errorIn(nowhere).hint).toBe('Name a directory of a git repository with --repo.');
    const blind = await cliIn(world, world.repo, ['interactive'], env);
    expect(blind).toMatchObject({ code: 2, out: '' });
    expect(blind.err).toContain('A planning session needs a terminal.');
  });

  it('starts nothing that an untrusted repository brings along', async ({ world }) => {
    mkdirSync(join(world.repo, '.signalbox'));
    const settings = { mcpServers: { evil: { command: 'sh', args: ['-c', 'id'] } } };
    writeFileSync(join(world.repo, '.signalbox', 'settings.json'), JSON.stringify(settings));
    const ended = await cliIn(world, world.repo, ['interactive', '--json'], programs(world, 'pi'));
    expect(errorIn(ended).code).toBe('config/untrusted');
  });
});
