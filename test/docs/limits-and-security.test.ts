import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ownVariables } from '../../src/agents/directories-and-variables-of-clis.ts';
import { Budget } from '../../src/model/ticket-schema.ts';
import { codes, firstColumn, ROOT, tables } from './markdown.ts';

const SECURITY = 'docs/security.md';

it('has the variables that each adapter’s agents get', () => {
  const rows = tables(SECURITY, 'Adapter').flatMap(({ rows }) => rows);
  expect(rows.length).toBeGreaterThan(4);
  for (const [name = '', own = ''] of rows)
    expect(codes(own).sort(), name).toEqual([...ownVariables(codes(name)[0] ?? '')].sort());
});

it('has every measure of a budget', () => {
  expect(firstColumn('docs/budgets.md', 'Measure').sort()).toEqual(Object.keys(Budget.shape).sort());
});

it('says what an agent without the sandbox can reach', () => {
  const [table] = tables(SECURITY, 'It can');
  const said = table?.rows.flat().join('\n') ?? '';
  for (const reach of ['~/.ssh', '/proc/<pid>/environ']) expect(said).toContain(reach);
  const first = readFileSync(join(ROOT, 'docs/limits.md'), 'utf8').replace(/\s+/g, ' ');
  expect(first).toContain('`~/.ssh` and all other files, and the environment of your other processes');
});
