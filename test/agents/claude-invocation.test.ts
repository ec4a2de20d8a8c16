import { describe, expect, it } from 'vitest';
import { claude } from '../../src/agents/claude.ts';
import { agent, ID, SCHEMA, valuesOf } from './invocation-support.ts';
import { request } from './support.ts';

describe('claude', () => {
  it('starts a session of a given id, or goes on in one', () => {
    const fresh = claude.invocation(request()).argv;
    expect(fresh.slice(0, 5)).toEqual(['claude', '-p', '--output-format', 'stream-json', '--verbose']);
    expect(valuesOf(fresh, '--session-id')).toEqual([ID]);
    const resumed = claude.invocation(request({ resume: 's-1' })).argv;
    expect(valuesOf(resumed, '--resume')).toEqual(['s-1']);
    expect(resumed).not.toContain('--session-id');
  });

  it('turns its own retries and all side traffic off', () => {
    expect(claude.invocation(request()).env).toEqual({
      CLAUDE_CODE_MAX_RETRIES: '0',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
    });
  });

  it('passes model, effort, turns and schema', () => {
    const { argv } = claude.invocation(
      request({ model: 'opus', effort: 'minimal', maxTurns: 7, schema: SCHEMA }),
    );
    expect(valuesOf(argv, '--model')).toEqual(['opus']);
    expect(valuesOf(argv, '--effort')).toEqual(['low']);
    expect(valuesOf(argv, '--max-turns')).toEqual(['7']);
    expect(JSON.parse(valuesOf(argv, '--json-schema')[0] ?? '')).toEqual(SCHEMA);
  });

  it('full: no questions asked, and root is told to be one', () => {
    const call = claude.invocation(request({ access: 'full', root: true }));
    expect(call.argv).toContain('--dangerously-skip-permissions');
    expect(call.argv).not.toContain('--permission-mode');
    expect(call.env.IS_SANDBOX).toBe('1');
    expect(claude.invocation(request({ access: 'full' })).env.IS_SANDBOX).toBeUndefined();
    expect(claude.invocation(request({ access: 'write', root: true })).env.IS_SANDBOX).toBeUndefined();
  });

  it('write: edits and commits', () => {
    const { argv } = claude.invocation(request({ allowedTools: ['WebFetch', 'Bash'] }));
    expect(valuesOf(argv, '--permission-mode')).toEqual(['acceptEdits']);
    const allowed = valuesOf(argv, '--allowedTools');
    expect(allowed).toEqual(expect.arrayContaining(['Bash', 'Edit', 'Write', 'WebFetch']));
    expect(allowed.filter((tool) => tool === 'Bash')).toHaveLength(1);
    expect(argv).not.toContain('--dangerously-skip-permissions');
  });

  it('read: no tool that writes, and no shell beyond what reads', () => {
    const { argv } = claude.invocation(request({ access: 'read' }));
    expect(valuesOf(argv, '--permission-mode')).toEqual(['default']);
    expect(valuesOf(argv, '--disallowedTools')).toEqual(
      expect.arrayContaining(['Edit', 'Write', 'NotebookEdit']),
    );
    const allowed = valuesOf(argv, '--allowedTools');
    expect(allowed).not.toContain('Bash');
    expect(allowed).not.toContain('Write');
  });

  it.each(['read', 'write', 'full'] as const)(
    '%s: permission flags of the settings are never passed beside it',
    (access) => {
      const defaultArgs = [
        '--dangerously-skip-permissions',
        '--permission-mode',
        'plan',
        '--permission-mode=plan',
        '--add-dir',
        'x',
      ];
      const { argv } = claude.invocation(request({ access, agent: agent('claude', { defaultArgs }) }));
      expect(argv.filter((arg) => arg === '--dangerously-skip-permissions')).toHaveLength(
        access === 'full' ? 1 : 0,
      );
      expect(argv.filter((arg) => arg.startsWith('--permission-mode'))).toHaveLength(
        access === 'full' ? 0 : 1,
      );
      expect(argv).not.toContain('plan');
      expect(valuesOf(argv, '--add-dir')).toEqual(['x']);
    },
  );

  it('lets a person go on in a session with the flags of the settings', () => {
    const config = agent('claude', { defaultArgs: ['--verbose', '--dangerously-skip-permissions'] });
    expect(claude.interactive(config, 's-1')).toEqual([
      'claude',
      '--resume',
      's-1',
      '--dangerously-skip-permissions',
    ]);
  });
});
