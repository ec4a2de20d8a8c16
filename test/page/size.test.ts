import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';

const DIR = join(import.meta.dirname, '..', '..', 'dist', 'web');
const files = readdirSync(DIR).map((name) => ({ name, bytes: readFileSync(join(DIR, name)) }));
const textOf = (end: string) =>
  files.filter(({ name }) => name.endsWith(end)).map(({ bytes }) => bytes.toString());

it('the scripts of the page have less than 60 kB when they are compressed', () => {
  const scripts = files.filter(({ name }) => name.endsWith('.js'));
  expect(scripts.map(({ name }) => name).sort()).toEqual(['app.js', 'live.js']);
  expect(scripts.reduce((sum, { bytes }) => sum + gzipSync(bytes).length, 0)).toBeLessThan(60_000);
});

it('the scripts of the page load nothing, so nothing of Node either', () => {
  const loads = /\bimport\b|\brequire\(|["'`]node:/;
  expect(textOf('.js').filter((text) => loads.test(text)).length).toBe(0);
});

it('the page names no other host, and has no inline script or style', () => {
  const known =
    /http:\/\/www\.w3\.org\/(2000\/svg|1998\/Math\/MathML|1999\/xhtml|1999\/xlink|XML\/1998\/namespace)/g;
  for (const text of [...textOf('.js'), ...textOf('.css'), ...textOf('.html')])
    expect(text.replaceAll(known, '')).not.toMatch(/https?:\/\/[a-z]/);
  for (const text of textOf('.html')) expect(text).not.toMatch(/<script>|<style|onload=|style=/);
  for (const text of textOf('.js')) expect(text).not.toMatch(/\beval\(|new Function\(|document\.write/);
});
