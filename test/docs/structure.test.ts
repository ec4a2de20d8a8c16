import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DOCS, type Doc, doc, ROOT, STUBS } from './markdown.ts';

const INDEX = 'docs/README.md';
const MAX_PARAGRAPH_WORDS = 90;
const KINDS = ['Tutorials', 'How-to guides', 'Reference', 'Explanation'];

function pagesLinkedFrom({ file, prose }: Doc): string[] {
  return [...prose.matchAll(/\]\(([^)#\s]+\.md)[^)]*\)/g)].map(([, target = '']) =>
    relative(ROOT, join(ROOT, dirname(file), target)),
  );
}

/** Paragraphs and list items; tables and fenced blocks are left out. */
function paragraphsOf({ prose }: Doc): string[] {
  return prose
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) |\|)/)
    .map((text) => text.trim())
    .filter((text) => text !== '' && !text.startsWith('|'));
}

describe('the index', () => {
  it('has four kinds of pages', () => {
    const kinds = doc(INDEX).headings.filter(({ level }) => level === 2);
    expect(kinds.map(({ text }) => text)).toEqual(KINDS);
  });

  it('lists every page once, and no stub', () => {
    const [, ...kinds] = doc(INDEX).prose.split(/^## /m);
    const listed = kinds.flatMap((prose) => pagesLinkedFrom({ ...doc(INDEX), prose }));
    const pages = DOCS.map(({ file }) => file).filter(
      (file) =>
        file.startsWith('docs/') &&
        file !== INDEX &&
        !STUBS.includes(file) &&
        !/^docs\/decisions\/\d/.test(file),
    );
    expect(listed.sort()).toEqual(pages.sort());
  });
});

it.each(STUBS)('%s only links on to where its content moved', (stub) => {
  expect(pagesLinkedFrom(doc(stub)).length).toBeGreaterThan(0);
  expect(doc(stub).prose.split(/\s+/).length).toBeLessThan(80);
  const linking = DOCS.filter((each) => pagesLinkedFrom(each).includes(stub)).map(({ file }) => file);
  expect(linking.filter((file) => file !== 'CHANGELOG.md')).toEqual([]);
});

it(`no paragraph has more than ${MAX_PARAGRAPH_WORDS} words`, () => {
  const long = DOCS.filter(({ file }) => file !== 'CHANGELOG.md').flatMap((each) =>
    paragraphsOf(each).flatMap((text) => {
      const words = text.split(/\s+/).length;
      return words > MAX_PARAGRAPH_WORDS ? [`${each.file}: ${words} words: ${text.slice(0, 60)}`] : [];
    }),
  );
  expect(long).toEqual([]);
});

it('no page uses words that other developer tools do not use', () => {
  const unusual = /\b(?:goes? on|going on|mend(?:s|ed|ing)?|nobody|somebody|whoever|anybody|anew)\b/gi;
  const found = DOCS.filter(({ file }) => file !== 'CHANGELOG.md').flatMap(({ file, prose }) =>
    [...prose.matchAll(unusual)].map(([word]) => `${file}: ${word}`),
  );
  expect(found).toEqual([]);
});

it('the glossary explains each word once', () => {
  const words = doc('docs/glossary.md').tables.flatMap(({ rows }) => rows.map(([word]) => word));
  expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([]);
});

it('each setting has one page that lists it with its meaning', () => {
  const pages = DOCS.filter((page) => page.tables.some(({ head }) => head[0] === 'Setting'));
  expect(pages.map(({ file }) => file)).toEqual(['docs/configuration.md']);
});

it('the comparison has a source at a commit, with its date, for every claim about another tool', () => {
  const rows = doc('docs/comparison.md').tables.flatMap((table) => table.rows);
  const others = rows.filter(([tool]) => tool !== 'Signalbox');
  expect(others.length).toBeGreaterThan(12);
  const source = /\[[^\]]+, \d{4}-\d\d-\d\d\]\(https:\/\/github\.com\/[\w.-]+\/[\w.-]+\/blob\/[0-9a-f]{40}\//;
  expect(others.filter((row) => !source.test(row.at(-1) ?? ''))).toEqual([]);
});
