import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A fenced block: ```lang title="name". */
export interface Block {
  file: string;
  line: number;
  lang: string;
  title: string | undefined;
  text: string;
  /** The heading it stands under. */
  section: string;
}

interface Heading {
  level: number;
  text: string;
}

export interface Table {
  section: string;
  head: string[];
  rows: string[][];
}

export interface Doc {
  file: string;
  text: string;
  blocks: Block[];
  headings: Heading[];
  tables: Table[];
  /** Everything outside of fenced blocks. */
  prose: string;
}

export const README = 'README.md';
/** Pages that moved: the old path keeps a page that only links on. */
export const STUBS = ['docs/limits.md'];

const TOP = [README, 'CONTRIBUTING.md', 'AGENTS.md', 'CHANGELOG.md'];

/** Every document of the project, read once. */
export const DOCS: readonly Doc[] = [
  ...TOP,
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
    .sort(),
].map((file) => parse(file, readFileSync(join(ROOT, file), 'utf8')));

export const BLOCKS = DOCS.flatMap((doc) => doc.blocks);

export function doc(file: string): Doc {
  const found = DOCS.find((each) => each.file === file);
  if (!found) throw new Error(`there is no ${file}`);
  return found;
}

/** Parses what our own documents use of Markdown, and no more. */
export function parse(file: string, text: string): Doc {
  const parsed: Doc = { file, text, blocks: [], headings: [], tables: [], prose: '' };
  let open: Block | undefined;
  let table: Table | undefined;
  let section = '';
  for (const [index, line] of text.split('\n').entries()) {
    const fence = /^```(\S*)(?:\s+title="([^"]+)")?\s*$/.exec(line);
    if (open) {
      if (line === '```') open = undefined;
      else open.text += `${line}\n`;
      continue;
    }
    if (fence) {
      const [, lang = '', title] = fence;
      open = { file, line: index + 1, lang, title, text: '', section };
      parsed.blocks.push(open);
      continue;
    }
    parsed.prose += `${line}\n`;
    const heading = /^(#{1,6}) (.+)$/.exec(line);
    if (heading) {
      section = heading[2] ?? '';
      parsed.headings.push({ level: heading[1]?.length ?? 0, text: section });
    }
    if (!line.startsWith('|')) table = undefined;
    else if (table) table.rows.push(...(/^\|[-|: ]+\|$/.test(line) ? [] : [cells(line)]));
    else {
      table = { section, head: cells(line), rows: [] };
      parsed.tables.push(table);
    }
  }
  return parsed;
}

function cells(line: string): string[] {
  return line
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

/** The texts in `code` of a line or cell. */
export function codes(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

/** Tables of a document by the first cell of their head. */
export function tables(file: string, first: string): Table[] {
  const found = doc(file).tables.filter((each) => each.head[0] === first);
  if (found.length === 0) throw new Error(`${file} has no table that begins with "${first}"`);
  return found;
}

/** The code in the first column of such a table, row by row. */
export function firstColumn(file: string, first: string): string[] {
  return tables(file, first).flatMap(({ rows }) => rows.flatMap(([cell = '']) => codes(cell)));
}

/** What a heading becomes in a link. */
export function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
