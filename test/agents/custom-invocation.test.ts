import { describe, expect, it } from 'vitest';
import { custom } from '../../src/agents/custom.ts';
import { agent, ID, SCHEMA } from './invocation-support.ts';
import { request } from './support.ts';

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
