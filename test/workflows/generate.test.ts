import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { generate, jsonSchemas } from '../../src/cli/generate-docs-and-schemas.ts';
import { TEMPLATE_VARIABLES } from '../../src/workflows/template-variables.ts';
import { directory } from './helpers.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

describe('generated files', () => {
  it('are current; if not, run: npm run build && npm run generate', () => {
    expect(generate(root, { check: true })).toEqual([]);
  });

  it('are written where they are missing or stale, and nowhere else', () => {
    const dir = directory({});
    const all = generate(dir, { check: true });
    expect(all).toEqual([
      'schemas/config.schema.json',
      'schemas/plan.schema.json',
      'schemas/ticket.schema.json',
      'schemas/workflow.schema.json',
      'schemas/web.openapi.json',
      'docs/workflow-reference.md',
      'docs/prompts.md',
      'docs/configuration.md',
      'docs/commands.md',
      'docs/agents.md',
    ]);
    expect(generate(dir, { check: false })).toEqual(all);
    expect(generate(dir, { check: true })).toEqual([]);
    writeFileSync(join(dir, 'schemas/plan.schema.json'), '{}');
    expect(generate(dir, { check: false })).toEqual(['schemas/plan.schema.json']);
  });

  it('keep the text of a document around its tables', () => {
    const before =
      '# Mine\n\nWords.\n\n<!-- generated:variables -->\nold\n<!-- /generated -->\n\nMore words.\n';
    const dir = directory({ 'docs/prompts.md': before });
    expect(generate(dir, { check: false })).toContain('docs/prompts.md');
    const text = readFileSync(join(dir, 'docs/prompts.md'), 'utf8');
    expect(text.startsWith('# Mine\n\nWords.\n\n<!-- generated:variables -->\n| Variable |')).toBe(true);
    expect(text.endsWith('<!-- /generated -->\n\nMore words.\n')).toBe(true);
    for (const { name } of TEMPLATE_VARIABLES) expect(text).toContain(`| \`${name}\` |`);
  });

  it('refuse a document whose table has no end', () => {
    const dir = directory({ 'docs/prompts.md': '<!-- generated:variables -->\n' });
    expect(() => generate(dir, { check: true })).toThrow(/has no "<!-- \/generated -->"/);
  });
});

describe('the JSON Schemas', () => {
  const accepts = (name: 'plan' | 'ticket' | 'workflow', value: unknown) => {
    const schema = jsonSchemas()[name] as Parameters<typeof z.fromJSONSchema>[0];
    return z.fromJSONSchema(schema, { registry: z.registry() }).safeParse(value).success;
  };

  it('accept what a person may write', () => {
    expect(accepts('plan', { id: 'p' })).toBe(true);
    expect(accepts('ticket', { planId: 'p', ticketId: 't', title: 'x', mine: 1 })).toBe(true);
    expect(accepts('workflow', parse('phases: [{id: a, type: script, command: s.sh}]'))).toBe(true);
  });

  it('refuse what the check refuses', () => {
    expect(accepts('plan', {})).toBe(false);
    expect(accepts('ticket', { planId: 'p', ticketId: 't' })).toBe(false);
    expect(accepts('workflow', parse('phases: [{id: a, type: script, command: s.sh, maxTurns: 3}]'))).toBe(
      false,
    );
    expect(accepts('workflow', parse('phases: []'))).toBe(false);
    expect(accepts('workflow', parse('phases: [{id: a, type: terminal}]\nfoo: 1'))).toBe(false);
  });
});
