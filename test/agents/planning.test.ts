import { describe, expect, it } from 'vitest';
import { LAUNCHERS, WITH_SERVERS } from '../../src/agents/adapters-and-agent-problems.ts';
import type { PlannerRequest } from '../../src/agents/planner-launch-and-masked-arguments.ts';
import { type LaunchPlan, withoutSecrets } from '../../src/agents/planner-launch-and-masked-arguments.ts';

const SECRET = 'key-0123456789';
const SERVERS = { tracker: { command: 'tracker', args: ['--it', "isn't"], env: { TOKEN: SECRET } } };
const SKILLS = [
  { name: 'planner', description: 'Writes plans.', dir: '/pkg/skills/planner' },
  { name: 'linear', description: 'Reads Linear.', dir: '/pkg/skills/providers/linear' },
];

function launch(adapter: string, more: Partial<PlannerRequest> = {}, agent = {}): LaunchPlan {
  const launcher = LAUNCHERS[adapter];
  if (!launcher) throw new Error(`no launcher of ${adapter}`);
  return launcher({
    agent: { name: adapter, adapter, command: adapter, defaultArgs: [], env: {}, model: null, ...agent },
    dir: '/s',
    prompt: 'Plan.\n"Quoted"',
    skills: SKILLS,
    mcpServers: SERVERS,
    writes: ['/state'],
    env: {},
    ...more,
  });
}

const fileOf = (plan: LaunchPlan, path: string) => {
  const file = plan.files.find((each) => each.path === path);
  return file && 'text' in file ? file.text : undefined;
};
const INDEX =
  'Plan.\n"Quoted"\n\n## Skills\n\nRead the file of a skill before you do what it is about.\n\n' +
  '- planner: Writes plans. (/pkg/skills/planner/SKILL.md)\n- linear: Reads Linear. (/pkg/skills/providers/linear/SKILL.md)\n';

describe('the launch plan of', () => {
  it('pi has the prompt as a file, a flag for each skill and no servers', () => {
    const plan = launch('pi');
    expect(plan.argv).toEqual([
      'pi',
      '--append-system-prompt',
      '/s/planner.md',
      '--skill',
      '/pkg/skills/planner',
      '--skill',
      '/pkg/skills/providers/linear',
    ]);
    expect(fileOf(plan, '/s/planner.md')).toBe('Plan.\n"Quoted"');
    expect(plan.notes).toEqual(['pi has no MCP, so tracker cannot be used in it.']);
    expect(launch('pi', { mcpServers: {} }).notes).toEqual([]);
  });

  it('claude has a plugin of skills, a file of servers and the state directory', () => {
    const plan = launch('claude');
    expect(plan.argv).toEqual([
      'claude',
      '--append-system-prompt',
      'Plan.\n"Quoted"',
      '--plugin-dir',
      '/s/signalbox',
      '--mcp-config',
      '/s/mcp.json',
      '--add-dir',
      '/state',
    ]);
    expect(JSON.parse(fileOf(plan, '/s/mcp.json') ?? '')).toEqual({ mcpServers: SERVERS });
    expect(JSON.parse(fileOf(plan, '/s/signalbox/.claude-plugin/plugin.json') ?? '')).toMatchObject({
      name: 'signalbox',
    });
    expect(plan.files.filter((file) => 'to' in file)).toEqual([
      { path: '/s/signalbox/skills/planner', to: '/pkg/skills/planner' },
      { path: '/s/signalbox/skills/linear', to: '/pkg/skills/providers/linear' },
    ]);
    expect(launch('claude', { mcpServers: {} }).argv).not.toContain('--mcp-config');
  });

  it('codex has everything as settings, and servers with keys behind a file', () => {
    const plan = launch('codex');
    expect(plan.argv).toEqual([
      'codex',
      '-c',
      `developer_instructions=${JSON.stringify(INDEX)}`,
      '-c',
      'mcp_servers.tracker={command="/bin/sh",args=["/s/mcp-tracker.sh"],startup_timeout_sec=60}',
      '--add-dir',
      '/state',
    ]);
    expect(fileOf(plan, '/s/mcp-tracker.sh')).toBe(
      `export TOKEN='${SECRET}'\nexec 'tracker' '--it' 'isn'\\''t'\n`,
    );
  });

  it('opencode has a directory of configuration', () => {
    const plan = launch('opencode');
    expect(plan.argv).toEqual(['opencode']);
    expect(plan.env).toEqual({ OPENCODE_CONFIG_DIR: '/s/opencode' });
    expect(JSON.parse(fileOf(plan, '/s/opencode/opencode.json') ?? '')).toEqual({
      instructions: ['/s/planner.md'],
      mcp: {
        tracker: {
          type: 'local',
          command: ['tracker', '--it', "isn't"],
          environment: { TOKEN: SECRET },
          enabled: true,
        },
      },
    });
    expect(plan.files).toContainEqual({
      path: '/s/opencode/skills/linear',
      to: '/pkg/skills/providers/linear',
    });
    const other = launch('opencode', { env: { OPENCODE_CONFIG_DIR: '/mine' } });
    expect(other.notes).toEqual(['Your OPENCODE_CONFIG_DIR (/mine) is not used in this session.']);
  });

  it('gemini has the prompt as context and directories that it may read', () => {
    const plan = launch('gemini');
    const along = ['/s/context', '/pkg/skills', '/state'];
    expect(plan.argv).toEqual(['gemini', ...along.flatMap((path) => ['--include-directories', path])]);
    expect(fileOf(plan, '/s/context/GEMINI.md')).toBe(INDEX);
    expect(plan.notes).toEqual([
      'gemini takes MCP servers from its own settings only; add tracker with: gemini mcp add',
    ]);
  });
});

describe.each(Object.keys(LAUNCHERS))('%s', (adapter) => {
  it('gets its command, model, variables and own arguments, without headless flags and permissions', () => {
    const headless: Record<string, string[]> = {
      pi: ['-p', '--mode', 'json', '--theme', 'x'],
      claude: ['-p', '--dangerously-skip-permissions', '--output-format', 'json', '--theme', 'x'],
      codex: ['--json', '--sandbox', 'danger-full-access', '--theme', 'x'],
      opencode: ['--format', 'json', '--auto', '--theme', 'x'],
      gemini: ['--yolo', '--output-format', 'json', '--theme', 'x'],
    };
    const { argv, env } = launch(
      adapter,
      {},
      {
        command: '/opt/it',
        defaultArgs: headless[adapter],
        env: { BASE: 'http://here' },
        model: 'best',
      },
    );
    expect(argv.slice(0, 3)).toEqual(['/opt/it', '--theme', 'x']);
    expect(argv.slice(3, 5)).toEqual([adapter === 'codex' ? '-m' : '--model', 'best']);
    expect(env.BASE).toBe('http://here');
  });

  it('never has a key in its arguments or variables, and writes only private files of its own', () => {
    const { argv, env, files } = launch(adapter);
    expect(JSON.stringify({ argv, env })).not.toContain(SECRET);
    for (const file of files) {
      expect(file.path).toMatch(/^\/s\//);
      if ('mode' in file) expect(file.mode).toBe(0o600);
    }
    const told = files.some((file) => 'text' in file && file.text.includes(SECRET));
    expect(told).toBe(WITH_SERVERS.includes(adapter));
  });

  it('shows no key when its servers are covered', () => {
    const servers = {
      a: { command: 'x', args: ['--header', `Authorization: Bearer ${SECRET}`], env: { A: SECRET } },
      b: {
        command: 'x',
        args: ['--token', SECRET, `--api-key=${SECRET}`, `https://me:${SECRET}@host`],
        env: {},
      },
    };
    const covered = withoutSecrets(servers);
    expect(covered.a?.args).toEqual(['--header', '***']);
    expect(covered.a?.env).toEqual({ A: '***' });
    expect(JSON.stringify(launch(adapter, { mcpServers: covered }))).not.toContain(SECRET);
  });
});
