import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ADAPTERS } from '../../src/agents/adapters-and-agent-problems.ts';
import { generate } from '../../src/cli/generate-docs-and-schemas.ts';
import { ROOT } from '../docs/markdown.ts';

describe('what is generated from the code', () => {
  it('is current; if not, run: npm run build && npm run generate', () => {
    expect(generate(ROOT, { check: true })).toEqual([]);
  });

  it('has a page of the agents beside those of settings and workflows', () => {
    const dir = mkdtempSync(join(tmpdir(), 'signalbox-generate-'));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    expect(generate(dir, { check: false })).toEqual(
      expect.arrayContaining(['docs/agents.md', 'docs/configuration.md', 'schemas/plan.schema.json']),
    );
    expect(generate(dir, { check: true })).toEqual([]);
    const text = readFileSync(join(dir, 'docs/agents.md'), 'utf8');
    for (const { name, program } of Object.values(ADAPTERS)) {
      expect(text).toContain(`| \`${name}\` |`);
      if (program)
        expect(text).toMatch(
          new RegExp(
            `\\| \`${name}\` \\| ${program.title} \\| \`${program.package}\`.*${program.tested[1]} \\|`,
          ),
        );
    }
  });
});
