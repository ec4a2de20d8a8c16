import type { AgentConfig } from '../../src/model/agent-and-adapter-types.ts';

export const SCHEMA = {
  type: 'object',
  properties: { outcome: { enum: ['success'] } },
  required: ['outcome'],
};
export const ID = '11111111-2222-4333-8444-555555555555';
export const agent = (adapter: string, more: Partial<AgentConfig> = {}): AgentConfig => ({
  name: 'a',
  adapter,
  command: adapter,
  defaultArgs: [],
  env: {},
  model: null,
  ...more,
});
/** The values after a flag, up to the next one. */
export const valuesOf = (argv: string[], flag: string): string[] => {
  const start = argv.indexOf(flag);
  if (start < 0) return [];
  const rest = argv.slice(start + 1);
  const end = rest.findIndex((arg) => arg.startsWith('-'));
  return end < 0 ? rest : rest.slice(0, end);
};
