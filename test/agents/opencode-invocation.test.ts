import { describe, expect, it } from 'vitest';
import { opencode } from '../../src/agents/opencode.ts';
import type { AgentConfig } from '../../src/model/agent-and-adapter-types.ts';
import { agent } from './invocation-support.ts';
import { request } from './support.ts';

describe('opencode', () => {
  const call = (overrides: Parameters<typeof request>[0] = {}, config: Partial<AgentConfig> = {}) =>
    opencode.invocation(request({ agent: agent('opencode', config), ...overrides }));

  it('runs once, tells its errors on stderr, and does not update itself', () => {
    const { argv, env } = call();
    expect(argv).toEqual(['opencode', 'run', '--format', 'json', '--print-logs', '--log-level', 'ERROR']);
    expect(env).toEqual({ OPENCODE_DISABLE_AUTOUPDATE: '1' });
  });

  it('goes on in a session and passes model and effort once', () => {
    const defaultArgs = ['-m', 'old/one', '--variant=low', '--agent', 'mine', '-s', 'other', '--share'];
    const { argv } = call({ resume: 'ses_1', model: 'new/two', effort: 'high' }, { defaultArgs });
    expect(argv.slice(7)).toEqual([
      '--agent',
      'mine',
      '--session',
      'ses_1',
      '--model',
      'new/two',
      '--variant',
      'high',
    ]);
  });

  it('read: neither edits nor shell, whatever else is configured', () => {
    const mine = { env: { OPENCODE_PERMISSION: '{"bash":"allow"}' }, defaultArgs: ['--auto'] };
    const { argv, env } = call({ access: 'read' }, mine);
    expect(JSON.parse(env.OPENCODE_PERMISSION ?? '')).toMatchObject({ edit: 'deny', bash: 'deny' });
    expect(argv).not.toContain('--auto');
  });

  it('full: everything that would be asked is allowed; write: it is refused', () => {
    expect(call({ access: 'full' }).argv).toContain('--auto');
    expect(call({ access: 'write' }, { defaultArgs: ['--auto'] }).argv).not.toContain('--auto');
  });

  it('lets a person go on in a session', () => {
    const config = agent('opencode', { defaultArgs: ['--auto', '--variant', 'high', '-m', 'a/b'] });
    expect(opencode.interactive(config, 'ses_1')).toEqual(['opencode', '-s', 'ses_1', '-m', 'a/b']);
  });
});
