import { describe, expect, it } from 'vitest';
import { claude } from '../../src/agents/claude.ts';
import { codex } from '../../src/agents/codex.ts';
import { strictSchema } from '../../src/agents/codex-schema.ts';
import { custom } from '../../src/agents/custom.ts';
import { gemini } from '../../src/agents/gemini.ts';
import { ADAPTERS } from '../../src/agents/index.ts';
import { opencode } from '../../src/agents/opencode.ts';
import { pi } from '../../src/agents/pi.ts';
import { rehearsal } from '../../src/agents/rehearsal.ts';
import { validateResult } from '../../src/agents/validate.ts';
import type { AgentConfig } from '../../src/model/agent.ts';
import { request } from './support.ts';

const SCHEMA = { type: 'object', properties: { outcome: { enum: ['success'] } }, required: ['outcome'] };
const ID = '11111111-2222-4333-8444-555555555555';
const agent = (adapter: string, more: Partial<AgentConfig> = {}): AgentConfig => ({
  name: 'a',
  adapter,
  command: adapter,
  defaultArgs: [],
  env: {},
  model: null,
  ...more,
});
/** The values after a flag, up to the next one. */
const valuesOf = (argv: string[], flag: string): string[] => {
  const start = argv.indexOf(flag);
  if (start < 0) return [];
  const rest = argv.slice(start + 1);
  const end = rest.findIndex((arg) => arg.startsWith('-'));
  return end < 0 ? rest : rest.slice(0, end);
};

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
    const own = claude.invocation(request({ agent: agent('claude', { model: 'haiku' }) })).argv;
    expect(valuesOf(own, '--model')).toEqual(['haiku']);
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

describe('codex', () => {
  const call = (overrides: Parameters<typeof request>[0] = {}, config: Partial<AgentConfig> = {}) =>
    codex.invocation(request({ agent: agent('codex', config), ...overrides }));

  it('reads the prompt from stdin and is stopped by SIGINT', () => {
    const { argv, stopSignal } = call();
    expect(argv).toEqual([
      'codex',
      'exec',
      '--json',
      '--skip-git-repo-check',
      '-s',
      'workspace-write',
      '-c',
      'approval_policy="never"',
      '-',
    ]);
    expect(stopSignal).toBe('SIGINT');
  });

  it('resumes with every option before `resume`, the sandbox as a setting', () => {
    const { argv } = call(
      { resume: 's-1', access: 'read', schema: SCHEMA },
      { defaultArgs: ['--add-dir', '/x'] },
    );
    expect(argv.slice(-3)).toEqual(['resume', 's-1', '-']);
    expect(argv).toContain('sandbox_mode="read-only"');
    expect(argv).not.toContain('-s');
    expect(argv.indexOf('--add-dir')).toBeLessThan(argv.indexOf('resume'));
  });

  it('full: no sandbox', () => {
    const { argv } = call({ access: 'full' });
    expect(argv).toContain('--dangerously-bypass-approvals-and-sandbox');
    expect(argv).not.toContain('-s');
  });

  it('write: opens the git directories that commits go to', () => {
    const gitDirs = () => ['/repo/.git', '/repo/.git/worktrees/t "1"'];
    expect(call({ gitDirs }).argv).toContain(
      'sandbox_workspace_write.writable_roots=["/repo/.git","/repo/.git/worktrees/t \\"1\\""]',
    );
    expect(call({ gitDirs, access: 'read' }).argv.join(' ')).not.toContain('writable_roots');
  });

  it.each(['read', 'write', 'full'] as const)(
    '%s: permission flags of the settings are never passed beside it',
    (access) => {
      const defaultArgs = [
        '--approval-mode',
        'never',
        '--full-auto',
        '--yolo',
        '-sdanger-full-access',
        '--sandbox=danger-full-access',
        '-a',
        'never',
        '-c',
        'approval_policy="on-request"',
        '-c',
        'sandbox_mode="danger-full-access"',
        '-c',
        'model_provider="mine"',
        '--json',
      ];
      const argv = call({ access }, { defaultArgs }).argv;
      expect(argv).toEqual([...call({ access }).argv.slice(0, -1), '-c', 'model_provider="mine"', '-']);
    },
  );

  it('passes model and effort once', () => {
    const defaultArgs = ['-m', 'old', '--config', 'model_reasoning_effort="low"'];
    const { argv } = call({ model: 'new', effort: 'max' }, { defaultArgs });
    expect(argv.filter((arg) => arg === '-m')).toHaveLength(1);
    expect(argv.join(' ')).toContain('-m new -c model_reasoning_effort="xhigh"');
    expect(call({}, { defaultArgs }).argv.join(' ')).toContain(
      '-m old --config model_reasoning_effort="low"',
    );
  });

  it('writes the schema to a file, closed and with every property required', () => {
    const schema = {
      type: 'object',
      properties: {
        outcome: { enum: ['success'] },
        notes: { type: 'array', items: { type: 'object', properties: { line: { type: 'integer' } } } },
        maybe: { type: ['string', 'null'] },
      },
      required: ['outcome'],
    };
    const { argv, files } = call({ schema });
    expect(valuesOf(argv, '--output-schema')).toEqual(['{job}/schema.json']);
    expect(JSON.parse(files['schema.json'] ?? '')).toEqual({
      type: 'object',
      properties: {
        outcome: { enum: ['success'] },
        notes: {
          anyOf: [
            {
              type: 'array',
              items: {
                type: 'object',
                properties: { line: { anyOf: [{ type: 'integer' }, { type: 'null' }] } },
                required: ['line'],
                additionalProperties: false,
              },
            },
            { type: 'null' },
          ],
        },
        maybe: { type: ['string', 'null'] },
      },
      required: ['outcome', 'notes', 'maybe'],
      additionalProperties: false,
    });
    const answer = { outcome: 'success', notes: null, maybe: null };
    expect(validateResult(strictSchema(schema), answer).ok).toBe(true);
    expect(validateResult(schema, answer)).toEqual({ ok: true, value: { outcome: 'success', maybe: null } });
  });

  it('lets a person go on in a session', () => {
    expect(codex.interactive(agent('codex', { defaultArgs: ['--yolo', '--json'] }), 's-1')).toEqual([
      'codex',
      'resume',
      '--yolo',
      's-1',
    ]);
    expect(codex.interactive(agent('codex', { defaultArgs: ['--approval-mode', 'never'] }), 's-1')).toEqual([
      'codex',
      'resume',
      's-1',
    ]);
  });
});

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

describe('custom', () => {
  const call = (defaultArgs: string[], overrides: Parameters<typeof request>[0] = {}) =>
    custom.invocation(request({ agent: agent('custom', { command: './agent', defaultArgs }), ...overrides }));

  it('fills placeholders, and what they were filled with stays as it is', () => {
    const result = call(['-p', 'Say: {prompt}', '--file={promptFile}', '{model}', '{session}', '{other}'], {
      prompt: 'use {model} and $& now',
      model: 'm',
    });
    expect(result.argv).toEqual([
      './agent',
      '-p',
      'Say: use {model} and $& now',
      '--file=/jobs/1/prompt.md',
      'm',
      ID,
      '{other}',
    ]);
    expect(result.stdin).toBeNull();
  });

  it('keeps stdin for the prompt when no argument takes it', () => {
    expect(call(['{promptFile}']).stdin).toBe('Do it.');
  });

  it('tells everything else by the environment', () => {
    const all = call([], {
      model: 'm',
      effort: 'high',
      maxTurns: 3,
      allowedTools: ['A', 'B'],
      access: 'read',
      schema: SCHEMA,
    });
    expect(all.env).toEqual({
      SIGNALBOX_ACCESS: 'read',
      SIGNALBOX_MODEL: 'm',
      SIGNALBOX_EFFORT: 'high',
      SIGNALBOX_MAX_TURNS: '3',
      SIGNALBOX_ALLOWED_TOOLS: 'A,B',
      SIGNALBOX_RESULT_SCHEMA: JSON.stringify(SCHEMA),
    });
    expect(call([]).env).toEqual({ SIGNALBOX_ACCESS: 'write' });
  });

  it('refuses a prompt that does not fit an argument, and takes it on stdin', () => {
    const prompt = 'é'.repeat(70_000);
    expect(() => call(['{prompt}'], { prompt })).toThrow(/too long/);
    expect(call([], { prompt }).stdin).toBe(prompt);
  });
});

describe('rehearsal', () => {
  it('is called with session, access, model and schema', () => {
    const config = agent('rehearsal', { command: '/bin/rehearsal', defaultArgs: ['--scenario', 's.yaml'] });
    const { argv, files, env } = rehearsal.invocation(
      request({ agent: config, model: 'm', schema: SCHEMA, access: 'read', maxTurns: 2 }),
    );
    expect(argv).toEqual([
      '/bin/rehearsal',
      '--scenario',
      's.yaml',
      '--session',
      ID,
      '--access',
      'read',
      '--model',
      'm',
      '--schema',
      '{job}/schema.json',
    ]);
    expect(JSON.parse(files['schema.json'] ?? '')).toEqual(SCHEMA);
    expect(env.SIGNALBOX_MAX_TURNS).toBe('2');
    expect(rehearsal.invocation(request({ agent: config, resume: 's-1' })).argv.slice(3)).toEqual([
      '--resume',
      's-1',
      '--access',
      'write',
    ]);
  });
});
