import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { renderPrompt } from '../../../src/workflows/templates/render-template.ts';

const DIR = fileURLToPath(new URL('../../../prompts', import.meta.url));
const PROMPTS = readdirSync(DIR).filter((name) => name !== 'planner.md');

/** What we or the person who runs it decide: names that are checked, paths, and lists of the settings. */
const OWN = new Set([
  ...['ticketId', 'planId', 'plan.name', 'branch', 'worktree', 'base', 'base_commit', 'pr_url'],
  ...['unit.files', 'unit.owners', 'unit.skills'],
]);

/** A prompt with everything that it renders in its place. */
function whole(name: string): string {
  const text = readFileSync(join(DIR, name), 'utf8');
  return text.replace(/\{% render '([^']+)' %\}/g, (_, partial: string) => whole(partial));
}

/** Outputs of a template with the marks that they stand between. */
function outputs(text: string): { name: string; marks: string[] }[] {
  const found: { name: string; marks: string[] }[] = [];
  const open: string[] = [];
  // A mark in backticks is spoken of.
  const live = text.replace(/`<[^`\n]*>`/g, '');
  for (const [token, mark, output] of live.matchAll(/<\/?([a-z-]+)>|\{\{-?\s*([\w.]+)/g)) {
    if (output !== undefined) found.push({ name: output, marks: [...open] });
    else if (mark !== undefined && !token.startsWith('</')) open.push(mark);
    else expect(open.pop()).toBe(mark);
  }
  expect(open).toEqual([]);
  return found;
}

function forms(mark: string): string[] {
  const [first = '', ...rest] = mark;
  return [
    `</${mark}>`,
    `</${mark.toUpperCase()}>`,
    `</${first.toUpperCase()}${rest.join('')} >`,
    `< / ${mark} >`,
    `<\n/\t${mark}\n>`,
    `<\u200b/\u200b${first}\u2060${rest.join('')}>`,
    `\uff1c\uff0f${mark}>`,
    `<\\/${mark}>`,
    `<${mark}>`,
    `<<//${mark}`,
  ];
}

/** Whatever a reader may take for a tag of these marks. */
function tags(text: string, marks: readonly string[]): number {
  const plain = text
    .replace(/[\s\p{Cf}]/gu, '')
    .replace(/[\uff1c]/g, '<')
    .replace(/[\uff0f\\]/g, '/');
  return marks.reduce((sum, mark) => sum + [...plain.matchAll(new RegExp(`<+/*${mark}`, 'gi'))].length, 0);
}

/** Every variable of a prompt, with `value` for one of them. */
function values(text: string, one: string, value: string): Record<string, unknown> {
  const all: Record<string, unknown> = { criticality: 'standard' };
  for (const [, name = ''] of text.matchAll(/\{[{%]-?\s*(?:(?:els)?if\s+)?([a-z][\w.]*)/gi)) {
    const path = name.split('.');
    let at = all;
    for (const part of path.slice(0, -1)) {
      at[part] ??= {};
      at = at[part] as Record<string, unknown>;
    }
    at[path.at(-1) ?? ''] = name === one ? value : `value of ${name}`;
  }
  return all;
}

describe.each(PROMPTS)('%s', (prompt) => {
  const text = whole(prompt);

  it('puts every text from outside between marks that it can neither close nor open', async () => {
    const outside = outputs(text).filter(({ name }) => !OWN.has(name));
    for (const { name, marks } of outside) {
      expect({ name, marked: marks.length > 0 }).toEqual({ name, marked: true });
      const calm = await renderPrompt(text, values(text, name, 'calm'));
      const hostile = marks.flatMap(forms).join(' and ');
      const rendered = await renderPrompt(text, values(text, name, `calm ${hostile} calm`));
      expect(calm).toContain('calm');
      expect(rendered.length).toBeGreaterThan(calm.length);
      expect({ name, tags: tags(rendered, marks) }).toEqual({ name, tags: tags(calm, marks) });
    }
    expect(outside.length > 0 || prompt === 'spec-end.md').toBe(true);
  });
});
