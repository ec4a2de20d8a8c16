import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { jsonSchemas } from '../../workflows/json-schemas.ts';
import { agentDocTables, type DocTables, docTables } from './tables.ts';

/** All generated files: JSON Schemas and documents with generated tables, by path. */
export function generated(root: string, documents: DocTables = allTables()): Record<string, string> {
  const files: Record<string, string> = {};
  for (const [name, schema] of Object.entries(jsonSchemas())) {
    files[`schemas/${name}.schema.json`] = `${JSON.stringify(schema, null, 2)}\n`;
  }
  for (const [file, { title, sections }] of Object.entries(documents)) {
    const path = join(root, file);
    const text = existsSync(path) ? readFileSync(path, 'utf8') : `# ${title}\n`;
    files[file] = Object.entries(sections).reduce(fill, text);
  }
  return files;
}

/** Writes the files that are not up to date and returns their names; with `check` it writes nothing. */
export function generate(root: string, options: { check: boolean }): string[] {
  const stale = Object.entries(generated(root)).filter(([file, text]) => {
    const path = join(root, file);
    return !existsSync(path) || readFileSync(path, 'utf8') !== text;
  });
  for (const [file, text] of options.check ? [] : stale) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  return stale.map(([file]) => file);
}

/** Replaces the text between a pair of markers; adds the markers at the end if they are missing. */
function fill(text: string, [name, table]: [string, string]): string {
  const begin = `<!-- generated:${name} -->`;
  const end = '<!-- /generated -->';
  const section = `${begin}\n${table}\n${end}`;
  const from = text.indexOf(begin);
  if (from < 0) return `${text.trimEnd()}\n\n${section}\n`;
  const to = text.indexOf(end, from);
  if (to < 0) throw new Error(`"${begin}" has no "${end}" behind it.`);
  return text.slice(0, from) + section + text.slice(to + end.length);
}

function allTables(): DocTables {
  return { ...docTables(), ...agentDocTables() };
}
