import { describe, expect, it } from 'vitest';
import { ADAPTERS, adapterFor, capabilityProblems } from '../../src/agents/adapters-and-agent-problems.ts';
import { defaultAccess } from '../../src/agents/command-flags.ts';
import { guessAdapter } from '../../src/config/resolve-agents.ts';
import { AgentPhase, type PhaseOf } from '../../src/model/workflow.ts';

const phase = (more: Record<string, unknown>): PhaseOf<'agent'> =>
  AgentPhase.parse({ id: 'p', type: 'agent', prompt: 'x', ...more });

describe('adapterFor', () => {
  it('finds every adapter by its own name', () => {
    for (const [name, adapter] of Object.entries(ADAPTERS)) {
      expect(adapter.name).toBe(name);
      expect(adapterFor(name)).toBe(adapter);
    }
  });

  it.each(['qwen', '', 'constructor', '__proto__'])('refuses %j and names those there are', (name) => {
    expect(() => adapterFor(name)).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('claude, codex') }),
    );
  });
});

describe('guessAdapter', () => {
  it.each([
    ['claude', 'claude'],
    ['/usr/local/bin/codex', 'codex'],
    ['/opt/bin/pi', 'pi'],
    ['opencode', 'opencode'],
    ['gemini', 'gemini'],
    ['./scripts/claude-wrapper', 'custom'],
    ['', 'custom'],
  ])('%j is %s', (command, adapter) => {
    expect(guessAdapter(command)).toBe(adapter);
  });
});

describe('capabilityProblems', () => {
  const everything = {
    model: 'm',
    effort: 'high',
    access: 'write',
    maxTurns: 3,
    allowedTools: ['Bash'],
    session: 'continue',
  };

  it.each([
    ['claude', []],
    ['rehearsal', []],
    ['codex', ['maxTurns', 'allowedTools']],
    ['opencode', ['maxTurns', 'allowedTools']],
    ['pi', ['allowedTools']],
    ['gemini', ['effort', 'maxTurns', 'allowedTools']],
    ['custom', ['session']],
  ])('%s cannot honour %j', (name, fields) => {
    const problems = capabilityProblems(adapterFor(name), phase(everything));
    expect(problems.map((problem) => problem.split(':')[0])).toEqual(fields);
    expect(capabilityProblems(adapterFor(name), phase({}))).toEqual([]);
  });

  it('names every field of an adapter that can do nothing', () => {
    const none = {
      ...adapterFor('custom'),
      access: ['full'] as const,
      capabilities: {
        resume: false,
        schema: 'tagged',
        model: false,
        effort: false,
        maxTurns: false,
        allowedTools: false,
      } as const,
    };
    expect(capabilityProblems(none, phase(everything))).toHaveLength(6);
  });

  it('refuses a writing tool to a reading phase', () => {
    const problems = capabilityProblems(
      adapterFor('claude'),
      phase({ access: 'read', allowedTools: ['Read', 'Edit(src/**)', 'Bash(npm test)'] }),
    );
    expect(problems).toEqual([
      'allowedTools: "Edit(src/**)" is refused by access "read"; use access "write".',
    ]);
  });
});

describe('defaultAccess', () => {
  it.each([
    ['claude', [], 'write'],
    ['claude', ['--dangerously-skip-permissions'], 'full'],
    ['claude', ['--permission-mode', 'bypassPermissions'], 'full'],
    ['claude', ['--permission-mode=acceptEdits'], 'write'],
    ['claude', ['--permission-mode', 'plan'], 'read'],
    ['claude', ['--model', '--dangerously-skip-permissions-not'], 'write'],
    ['codex', [], 'write'],
    ['codex', ['--approval-mode', 'never'], 'write'],
    ['codex', ['--full-auto'], 'write'],
    ['codex', ['--yolo'], 'full'],
    ['codex', ['-s', 'read-only'], 'read'],
    ['codex', ['-c', 'sandbox_mode="danger-full-access"'], 'full'],
    ['opencode', ['--auto'], 'full'],
    ['gemini', ['--yolo'], 'full'],
    ['gemini', ['--approval-mode', 'yolo'], 'full'],
    ['gemini', ['--approval-mode=plan'], 'read'],
    ['gemini', ['--approval-mode', 'auto_edit'], 'write'],
    ['pi', ['-p'], 'write'],
    ['custom', ['--dangerously-skip-permissions'], 'write'],
  ])('%s with %j: %s', (adapter, defaultArgs, access) => {
    expect(defaultAccess({ adapter, defaultArgs })).toBe(access);
  });
});
