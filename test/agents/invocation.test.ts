import { describe, expect, it } from 'vitest';
import { ADAPTERS } from '../../src/agents/adapters-and-agent-problems.ts';
import type { AgentConfig } from '../../src/model/agent-and-adapter-types.ts';
import { agent, valuesOf } from './invocation-support.ts';
import { request } from './support.ts';

describe('every adapter', () => {
  it.each(Object.keys(ADAPTERS))('%s passes the prompt on stdin, not as an argument', (name) => {
    const call = ADAPTERS[name]?.invocation(request({ agent: agent(name), prompt: 'secret plan' }));
    expect(call?.stdin).toBe('secret plan');
    expect(call?.argv.join(' ')).not.toContain('secret plan');
  });

  it.each(Object.keys(ADAPTERS))('%s adds the environment of the agent, which wins', (name) => {
    const env = { DISABLE_TELEMETRY: '0', SIGNALBOX_ACCESS: 'mine', X: '1' };
    expect(ADAPTERS[name]?.invocation(request({ agent: agent(name, { env }) })).env).toMatchObject(env);
  });

  it.each(Object.keys(ADAPTERS).filter((name) => name !== 'custom'))(
    '%s refuses a session id that could be an option',
    (name) => {
      expect(() => ADAPTERS[name]?.invocation(request({ agent: agent(name), resume: '--last' }))).toThrow(
        /session id/,
      );
    },
  );
});

describe('settings in a repository where sandboxed agents can write', () => {
  const call = (name: string, more: Partial<AgentConfig> = {}, distrusted: string | null = '/trees/a.b') =>
    ADAPTERS[name]?.invocation(request({ agent: agent(name, more), distrusted }));

  it('are not read by claude, but its memory is', () => {
    expect(valuesOf(call('claude')?.argv ?? [], '--setting-sources')).toEqual(['user']);
    expect(valuesOf(call('claude')?.argv ?? [], '--add-dir')).toEqual(['.']);
    expect(call('claude')?.env).toMatchObject({ CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD: '1' });
    const own = call('claude', { defaultArgs: ['--setting-sources', 'user,project'] });
    expect(valuesOf(own?.argv ?? [], '--setting-sources')).toEqual(['user,project']);
  });

  it('are not read by codex, opencode and pi', () => {
    expect(call('codex')?.argv).toContain('projects={"/trees/a.b"={trust_level="untrusted"}}');
    expect(call('opencode')?.env).toMatchObject({ OPENCODE_DISABLE_PROJECT_CONFIG: '1' });
    expect(call('pi')?.argv.join(' ')).toContain('--no-extensions --extension {job}/');
  });

  it.each(Object.keys(ADAPTERS))('are left to %s where none are sandboxed', (name) => {
    expect(call(name, {}, null)).toEqual(ADAPTERS[name]?.invocation(request({ agent: agent(name) })));
    expect(JSON.stringify(call(name, {}, null))).not.toMatch(
      /setting-sources|untrusted|PROJECT_CONFIG|no-extensions/,
    );
  });
});
