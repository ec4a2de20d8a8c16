import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { anchor, codes, DOCS, type Doc, ROOT, STUBS } from './markdown.ts';

interface Link {
  target: string;
  fragment: string | undefined;
}

function linksOf({ prose }: Doc): Link[] {
  const found = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return found
    .filter((link) => !link.startsWith('https://'))
    .map((link) => {
      const [target = '', fragment] = link.split('#');
      return { target, fragment };
    });
}

function problemOf(from: Doc, { target, fragment }: Link): string | undefined {
  const path = target === '' ? from.file : relative(ROOT, join(ROOT, dirname(from.file), target));
  if (!existsSync(join(ROOT, path))) return `${path} does not exist`;
  if (fragment === undefined) return undefined;
  const to = DOCS.find((each) => each.file === path);
  const anchors = to?.headings.map((heading) => anchor(heading.text)) ?? [];
  return anchors.includes(fragment) ? undefined : `${path} has no heading #${fragment}`;
}

describe.each(DOCS.map((each) => [each.file, each] as const))('%s', (_file, each) => {
  it('links only to what exists', () => {
    expect(linksOf(each).flatMap((link) => problemOf(each, link) ?? [])).toEqual([]);
  });

  it('shows only pictures that exist, each with a text', () => {
    const pictures = [...each.prose.matchAll(/!\[([^\]]*)\]\(([^)]+)\)/g)];
    for (const [, text, path = ''] of pictures) {
      expect(text).not.toBe('');
      expect(existsSync(join(ROOT, dirname(each.file), path)), path).toBe(true);
    }
  });

  it('names only files that exist', () => {
    const named = codes(each.prose).filter((code) =>
      /^(src|test|tools|bench|docs|schemas|workflows|prompts|scripts|rehearsals)\/[\w./-]*$/.test(code),
    );
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('has one title, and it comes first', () => {
    expect(each.text.startsWith('# ')).toBe(true);
    expect(each.headings.filter(({ level }) => level === 1)).toHaveLength(1);
  });
});

it('every document can be reached from the README', () => {
  const seen = new Set(['README.md']);
  for (const file of seen) {
    const from = DOCS.find((each) => each.file === file);
    if (!from) continue;
    for (const { target } of linksOf(from))
      if (target.endsWith('.md')) seen.add(relative(ROOT, join(ROOT, dirname(file), target)));
  }
  const apart = DOCS.map(({ file }) => file).filter((file) => !seen.has(file));
  expect(apart).toEqual(['AGENTS.md', ...STUBS]);
});
