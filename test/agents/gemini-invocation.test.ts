import { describe, expect, it } from 'vitest';
import { gemini } from '../../src/agents/gemini.ts';
import type { AgentConfig } from '../../src/model/agent-and-adapter-types.ts';
import { agent, ID, valuesOf } from './invocation-support.ts';
import { request } from './support.ts';

describe('gemini', () => {
  const call = (overrides: Parameters<typeof request>[0] = {}, config: Partial<AgentConfig> = {}) =>
    gemini.invocation(request({ agent: agent('gemini', config), ...overrides }));

  it('starts a session of a given id, or goes on in one, without a process of its own in between', () => {
    const { argv, env } = call({ model: 'new' }, { defaultArgs: ['-m', 'old'] });
    expect(argv.slice(0, 8)).toEqual([
      'gemini',
      '--output-format',
      'stream-json',
      '--skip-trust',
      '--session-id',
      ID,
      '--model',
      'new',
    ]);
    expect(env).toEqual({ GEMINI_CLI_NO_RELAUNCH: 'true' });
    const resumed = call({ resume: 's-1' }).argv;
    expect(valuesOf(resumed, '--resume')).toEqual(['s-1']);
    expect(resumed).not.toContain('--session-id');
  });

  it.each([
    ['read', 'default', /write_file.*replace.*run_shell_command[\s\S]*deny/],
    ['write', 'auto_edit', /run_shell_command[\s\S]*allow/],
    ['full', 'yolo', null],
  ] as const)('%s: mode %s, and the policy that belongs to it', (access, mode, policy) => {
    const defaultArgs = ['--yolo', '--approval-mode=yolo', '--policy', 'mine.toml', '--allowed-tools', 'x'];
    const { argv, files } = call({ access }, { defaultArgs });
    expect(valuesOf(argv, '--approval-mode')).toEqual([mode]);
    expect(argv.join(' ')).not.toMatch(/--yolo|mine\.toml|--allowed-tools/);
    expect(valuesOf(argv, '--policy')).toEqual(policy ? ['{job}/gemini-policy.toml'] : []);
    if (policy) expect(files['gemini-policy.toml']).toMatch(policy);
    else expect(files).toEqual({});
  });

  it('lets a person go on in a session', () => {
    const config = agent('gemini', { defaultArgs: ['--yolo', '-o', 'json'] });
    expect(gemini.interactive(config, 's-1')).toEqual(['gemini', '--resume', 's-1', '--yolo']);
  });
});
