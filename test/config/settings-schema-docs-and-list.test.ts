import { describe, expect, it } from 'vitest';
import { settingsDocRows, settingsJsonSchema } from '../../src/config/settings-schema-docs-and-list.ts';
import { ROWS, variableOf } from '../../src/config/settings-table.ts';

interface Node {
  properties: Record<string, Node>;
  [other: string]: unknown;
}

describe('what is made from the table', () => {
  it('a JSON Schema that knows every key and no other', () => {
    const schema = settingsJsonSchema() as unknown as Node;
    const keys = ROWS.map(({ key }) => key.split('.')[0]);
    expect(new Set(Object.keys(schema.properties))).toEqual(new Set(['$schema', 'version', ...keys]));
    expect(schema.additionalProperties).toBe(false);
    expect(schema.properties.maxConcurrency).toEqual({
      type: 'integer',
      minimum: 1,
      default: 3,
      description: 'Maximum number of tickets that run at once on this machine.',
    });
    expect(Object.keys(schema.properties.timeouts?.properties ?? {})).toHaveLength(5);
    expect(schema.properties.timeouts?.additionalProperties).toBe(false);
    expect(schema.properties.worktreeRoot?.anyOf).toEqual([
      { type: 'string', minLength: 1 },
      { type: 'null' },
    ]);
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
  });

  it('a pattern for paths inside the repository that agrees with the check', () => {
    const schema = settingsJsonSchema() as unknown as {
      properties: { copy: { items: { pattern: string } } };
    };
    const pattern = new RegExp(schema.properties.copy.items.pattern);
    for (const good of ['.env', '.env.*', 'a/b', '..a', 'a/..b']) expect(pattern.test(good), good).toBe(true);
    for (const bad of ['../a', 'a/..', '..', '/a', '~/a', '-a']) expect(pattern.test(bad), bad).toBe(false);
  });

  it('a docs row for every key', () => {
    const rows = settingsDocRows();
    expect(rows.map(({ key }) => key)).toEqual(ROWS.map(({ key }) => key));
    expect(rows.find(({ key }) => key === 'stateDir')).toEqual({
      key: 'stateDir',
      allowed: 'a path',
      default: '"state"',
      variable: 'SIGNALBOX_STATE_DIR',
      about: 'Plans, tickets and jobs.',
      fields: [],
    });
    const agents = rows.find(({ key }) => key === 'agents');
    expect(agents).toMatchObject({ variable: null });
    expect(agents?.fields.map(({ path }) => path.replace('agents.<name>.', ''))).toEqual([
      'adapter',
      'command',
      'defaultArgs',
      'env',
      'model',
      'envAllow',
      'account',
      'fallback',
      'sandbox',
      'sandboxNetwork',
      'sandboxReadable',
      'sandboxWritable',
      'sandboxProcesses',
    ]);
  });

  it.each([
    ['maxConcurrency', 'SIGNALBOX_MAX_CONCURRENCY'],
    ['timeouts.agentIdleSeconds', 'SIGNALBOX_TIMEOUTS_AGENT_IDLE_SECONDS'],
    ['slots', 'SIGNALBOX_SLOTS'],
  ])('%s is set by %s', (key, variable) => {
    expect(variableOf(key)).toBe(variable);
  });
});
