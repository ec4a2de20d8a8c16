import { describe, expect, it } from 'vitest';
import { pi } from '../../src/agents/pi.ts';
import type { AgentConfig } from '../../src/model/agent-and-adapter-types.ts';
import { agent, valuesOf } from './invocation-support.ts';
import { request } from './support.ts';

describe('pi', () => {
  const call = (overrides: Parameters<typeof request>[0] = {}, config: Partial<AgentConfig> = {}) =>
    pi.invocation(request({ agent: agent('pi', config), ...overrides }));

  it('runs once with the extension that makes it tell of limits', () => {
    const { argv, files, env } = call();
    expect(argv).toEqual(['pi', '--mode', 'json', '-p', '--extension', '{job}/signalbox-pi.js']);
    expect(Object.keys(files)).toEqual(['signalbox-pi.js']);
    expect(env).toEqual({ PI_SKIP_VERSION_CHECK: '1', PI_TELEMETRY: '0' });
  });

  it('goes on in a session, and passes model, effort and turns', () => {
    const defaultArgs = ['--model', 'old', '--thinking', 'low', '--provider', 'mine', '--mode', 'rpc', '-c'];
    const { argv, env } = call({ resume: 's-1', model: 'new', effort: 'max', maxTurns: 4 }, { defaultArgs });
    expect(argv.slice(4)).toEqual([
      '--provider',
      'mine',
      '--extension',
      '{job}/signalbox-pi.js',
      '--session',
      's-1',
      '--model',
      'new',
      '--thinking',
      'xhigh',
    ]);
    expect(env.SIGNALBOX_PI_TURNS).toBe('4');
  });

  it('read: only tools that read, whatever the settings enable', () => {
    const { argv } = call({ access: 'read' }, { defaultArgs: ['--tools', 'bash', '-t', 'write'] });
    expect(argv.filter((arg) => arg === '--tools' || arg === '-t')).toHaveLength(1);
    expect(valuesOf(argv, '--tools')).toEqual(['read,grep,find,ls']);
    expect(call({ access: 'write' }, { defaultArgs: ['--tools', 'bash'] }).argv).toContain('bash');
  });

  it('lets a person go on in a session', () => {
    const config = agent('pi', { defaultArgs: ['-p', '--provider', 'mine'] });
    expect(pi.interactive(config, 's-1')).toEqual(['pi', '--session', 's-1', '--provider', 'mine']);
  });
});
