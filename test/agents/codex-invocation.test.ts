import { describe, expect, it } from 'vitest';
import { codex, strictSchema } from '../../src/agents/codex.ts';
import type { AgentConfig } from '../../src/model/agent-and-adapter-types.ts';
import { validateResult } from '../../src/workflows/result-schema/validate-result.ts';
import { agent, SCHEMA, valuesOf } from './invocation-support.ts';
import { request } from './support.ts';

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
