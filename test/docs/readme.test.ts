import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BLOCKS, codes, DOCS, doc, README, ROOT } from './markdown.ts';

const { scripts, version, files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
  version: string;
  files: string[];
};

describe('README', () => {
  it('has at most 120 lines', () => {
    expect(doc(README).text.trimEnd().split('\n').length).toBeLessThanOrEqual(120);
  });

  it('opens with two sentences', () => {
    const [, opening = ''] = doc(README).text.split('\n\n');
    const sentences = opening.replaceAll('\n', ' ').match(/[^.]+\.(?: |$)/g) ?? [];
    expect(sentences).toHaveLength(2);
  });

  it('begins with exactly the two commands that do all the set-up', () => {
    const [first] = doc(README).blocks;
    expect(first?.lang).toBe('sh');
    expect(first?.text).toBe('npm ci && npm run demo\nnpm ci && npm test\n');
  });

  it('names the version it is true of', () => {
    expect(doc(README).text).toContain(`Version ${version.split('.').slice(0, 2).join('.')},`);
  });
});

describe('npm commands in the docs', () => {
  const lines = [...DOCS.flatMap(({ prose }) => codes(prose)), ...BLOCKS.map(({ text }) => text)].join('\n');

  it('are scripts of package.json, and what they start exists', () => {
    const named = new Set([...lines.matchAll(/npm (?:run )?([a-z]+)/g)].map(([, name = '']) => name));
    for (const npmOwn of ['ci', 'install', 'uninstall', 'pack']) named.delete(npmOwn);
    expect([...named].filter((name) => !(name in scripts))).toEqual([]);
    const started = [...named].flatMap((name) => /node (\S+\.mjs)/.exec(scripts[name] ?? '')?.[1] ?? []);
    for (const file of started) expect(() => readFileSync(join(ROOT, file)), file).not.toThrow();
  });

  it('name the tarball that npm pack makes', () => {
    const named = [...lines.matchAll(/signalbox-(\S+)\.tgz/g)].map(([, found]) => found);
    expect(new Set(named)).toEqual(new Set([version]));
  });
});

it('`npx signalbox` is only for a checkout, so only the page that installs it says so', () => {
  const named = DOCS.filter(({ text }) => text.includes('npx signalbox')).map(({ file }) => file);
  expect(named).toEqual(['docs/getting-started.md']);
});

it('the docs are part of the package', () => {
  expect(files).toEqual(expect.arrayContaining(['docs', 'schemas', 'CHANGELOG.md']));
});
