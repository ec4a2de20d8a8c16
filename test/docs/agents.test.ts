import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ADAPTERS } from '../../src/agents/adapters-and-agent-problems.ts';
import { INSTALL_COMMANDS } from '../../src/config/doctor/check-programs.ts';
import { doc, ROOT, tables } from './markdown.ts';
import { source } from './source.ts';

const AGENTS = 'docs/agents.md';
const CONTRACT = 'test/contract';

/** What every test of the contract suite is called, without what makes one of several. */
function points(): string[] {
  const files = readdirSync(join(ROOT, CONTRACT)).filter((name) => name.endsWith('.contract.ts'));
  return files
    .flatMap((name) => [...source(`${CONTRACT}/${name}`).matchAll(/^ {2,4}(?:it\()?'([a-z][^'\n]+)',/gm)])
    .map(([, title = '']) => title.replace(/: %s$/, ''));
}

describe('the page of the agents', () => {
  it('has every point of the contract suite, and no other', () => {
    const listed = tables(AGENTS, 'An agent …').flatMap(({ rows }) => rows.map(([cell]) => cell ?? ''));
    expect(points().length).toBeGreaterThan(20);
    expect([...listed].sort()).toEqual(points().sort());
  });

  it('tells of every program what it needs', () => {
    const [, section = ''] = doc(AGENTS).prose.split('## What each one needs');
    for (const { program } of Object.values(ADAPTERS))
      if (program) expect(section).toContain(`**${program.title}**`);
  });
});

describe('programs', () => {
  it('are installed as their adapters say', () => {
    const declared = Object.entries(ADAPTERS).flatMap(([name, { program }]) =>
      program ? [[name, `npm install -g ${program.package}`] as const] : [],
    );
    expect(INSTALL_COMMANDS).toEqual(Object.fromEntries(declared));
  });
});
