#!/usr/bin/env node
// Writes the JSON Schemas and the generated tables of the docs; with --check it only says what is not current.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const { default: library } = await import('../dist/generate.js').catch(() => {
  console.error('dist/generate.js is missing; run: npm run build');
  process.exit(1);
});
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const check = process.argv.includes('--check');
const stale = library.generate(root, { check });
for (const file of stale)
  console.log(check ? `${file} is not current; run: npm run generate` : `wrote ${file}`);
process.exitCode = check && stale.length > 0 ? 1 : 0;
