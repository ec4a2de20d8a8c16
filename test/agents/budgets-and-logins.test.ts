import { expect, it } from 'vitest';
import { ADAPTERS } from '../../src/agents/adapters-and-agent-problems.ts';
import { ownVariables } from '../../src/agents/directories-and-variables-of-clis.ts';
import { request } from './support.ts';

const argvOf = (name: string, more: Parameters<typeof request>[0]) => {
  const base = request(more);
  return ADAPTERS[name]?.invocation({ ...base, agent: { ...base.agent, ...more?.agent } }).argv ?? [];
};

it('tells claude how much it may spend, unless its own arguments do', () => {
  const argv = argvOf('claude', { maxUsd: 1.23456 });
  expect(argv[argv.indexOf('--max-budget-usd') + 1]).toBe('1.2346');
  expect(argvOf('claude', { maxUsd: null })).not.toContain('--max-budget-usd');
  const agent = { ...request().agent, defaultArgs: ['--max-budget-usd', '3'] };
  const own = argvOf('claude', { maxUsd: 1, agent });
  expect(own.filter((arg) => arg === '--max-budget-usd')).toHaveLength(1);
  expect(own[own.indexOf('--max-budget-usd') + 1]).toBe('3');
});

it.each(Object.keys(ADAPTERS).filter((name) => name !== 'claude'))(
  '%s is told nothing it does not know',
  (name) => {
    const agent = { ...request().agent, adapter: name, command: name };
    expect(argvOf(name, { maxUsd: 1, agent }).join(' ')).not.toMatch(/budget/);
  },
);

it('every variable by which a CLI is logged in reaches it', () => {
  for (const [name, { program }] of Object.entries(ADAPTERS)) {
    const patterns = ownVariables(name).map((each) => new RegExp(`^${each.replaceAll('*', '.*')}$`));
    for (const variable of program?.login.env ?? [])
      expect(
        patterns.some((pattern) => pattern.test(variable)),
        `${name} ${variable}`,
      ).toBe(true);
  }
});
