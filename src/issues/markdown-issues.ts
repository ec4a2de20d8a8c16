import { basename } from 'node:path';
import type { Path, YamlSource } from '../config/parse-yaml-and-place-problems.ts';
import { repositoryText } from '../github/gh/repository-name.ts';
import { readTextFile } from '../machine/files/read-and-remove-files.ts';
import { InputError, orError, SignalboxError } from '../model/errors.ts';
import { idProblem, slug } from '../model/ids-and-branch-names.ts';
import { cleanLabels, cleanLine, cleanText, quoted } from '../model/text/clean-escape-quote-plural.ts';
import { headingAt, visibleLines } from '../model/text/markdown-lines.ts';
import { nearest } from '../model/text/nearest-word.ts';
import { acceptanceCriteria, isCriteriaTitle } from './acceptance-criteria.ts';
import { dependencyMentions } from './dependency-mentions.ts';
import { type MarkdownReference, parseReference } from './issue-references.ts';
import { type Fetched, orProblems, type Sourced, type Wait, type WorkItem } from './work-item.ts';

/** Issues in local files: front matter id, title, labels and dependsOn; the rest is the text. */
export function fetchMarkdown(references: readonly MarkdownReference[]): Promise<Fetched> {
  return orProblems(references, ({ text }) => text, readIssueFile);
}

/** The issue that a file has; nothing for other references, and for files that cannot be read. */
export async function issueInFile(text: string, options: { cwd: string }): Promise<WorkItem | undefined> {
  const reference = parseReference(text, options);
  if (reference.kind !== 'markdown') return undefined;
  const read = await orError(SignalboxError, () => readIssueFile(reference));
  return read instanceof SignalboxError ? undefined : read.item;
}

async function readIssueFile(reference: MarkdownReference): Promise<Sourced> {
  const { path } = reference;
  const text = (await readTextFile(path, { code: 'markdown/unreadable', what: 'an issue' }))
    .replace(/^\ufeff/, '')
    .replace(/\r\n?/g, '\n');
  const parts = splitFrontMatter(text);
  if (parts.unclosed)
    throw new InputError('markdown/front-matter', `${path}:1:1: The front matter is never closed.`, {
      hint: 'End it with a line of three dashes (---).',
      details: { file: path, line: 1, column: 1 },
    });
  const front = parts.yaml === undefined ? NONE : await readFrontMatter(parts.yaml, path);
  const { title, body } = takeTitle(parts.body);
  const id = front.id ?? idOfFile(path);
  const clean = cleanText(body);
  if (`${front.title ?? ''}${title}${clean}`.trim() === '')
    throw new InputError('markdown/empty', `${path} does not say what is to be done.`, {
      hint: 'Give it a title (# Title) and a text.',
      details: { file: path },
    });
  return {
    reference,
    item: {
      key: front.id === undefined ? `markdown:${path}` : `markdown:${front.id}`,
      id,
      number: null,
      title: cleanLine(front.title ?? '') || title || cleanLine(fileName(path).replace(/[-_]+/g, ' ')) || id,
      body: clean,
      labels: cleanLabels(front.labels),
      acceptanceCriteria: acceptanceCriteria(clean),
      url: null,
      state: 'open',
      dependsOn: [],
      repository: null,
      ...(front.paths.length > 0 ? { paths: front.paths } : {}),
    },
    waits: [...front.dependsOn, ...writtenWaits(clean, path)],
  };
}

function writtenWaits(body: string, path: string): Wait[] {
  return dependencyMentions(body, { linear: true, anyHost: true }).map((mention) => {
    if (mention.kind === 'linear') return { text: mention.key, place: path };
    const repository = mention.repository ? repositoryText(mention.repository) : '';
    return { text: `${repository}#${mention.number}`, place: path };
  });
}

/** The first heading is the title, unless it names a section; it is not repeated in the text. */
function takeTitle(body: string): { title: string; body: string } {
  const lines = body.split('\n');
  const seen = visibleLines(body);
  const first = seen.findIndex((_, index) => (headingAt(seen, index)?.level ?? 7) < 7);
  const { text = '', height = 0 } = headingAt(seen, first) ?? {};
  const section = isCriteriaTitle(text) || isDescription(text);
  if (!section) lines.splice(first, height);
  const rest = lines
    .join('\n')
    .replace(/^(?:[ \t]*\n)+/, '')
    .trimEnd();
  return { title: section ? '' : cleanLine(text), body: withoutDescription(rest) };
}

function withoutDescription(body: string): string {
  const lines = body.split('\n');
  const heading = headingAt(lines, 0);
  if (!heading || heading.level === 7 || !isDescription(heading.text)) return body;
  return lines
    .slice(heading.height)
    .join('\n')
    .replace(/^(?:[ \t]*\n)+/, '');
}

function isDescription(text: string): boolean {
  return /^\W*description\W*$/i.test(text);
}

/** The id of an issue whose file does not say one. */
export function idOfFile(path: string): string {
  return slug(fileName(path), 80);
}

function fileName(path: string): string {
  return basename(path).replace(/\.(md|markdown)$/i, '');
}

interface FrontMatter {
  id: string | undefined;
  title: string | undefined;
  labels: string[];
  dependsOn: Wait[];
  paths: string[];
}

const NONE: FrontMatter = { id: undefined, title: undefined, labels: [], dependsOn: [], paths: [] };

/** Splits a file with `---` around its first lines; `yaml` keeps its line numbers. */
function splitFrontMatter(text: string): { yaml: string | undefined; body: string; unclosed: boolean } {
  const lines = text.split('\n');
  if (!/^---[ \t]*$/.test(lines[0] ?? '')) return { yaml: undefined, body: text, unclosed: false };
  const end = lines.findIndex((line, index) => index > 0 && /^(---|\.\.\.)[ \t]*$/.test(line));
  // A first line of dashes may also be a rule across the page.
  if (end < 0) return { yaml: undefined, body: text, unclosed: /^\w[\w-]*[ \t]*:/.test(lines[1] ?? '') };
  const yaml = ['', ...lines.slice(1, end)].join('\n');
  return { yaml, body: lines.slice(end + 1).join('\n'), unclosed: false };
}

/** Reads the fields that mean something here; others belong to other tools, unless they look like a misspelling. */
async function readFrontMatter(yaml: string, file: string): Promise<FrontMatter> {
  const { parseYaml } = await import('../config/parse-yaml-and-place-problems.ts');
  const source = parseYaml(yaml, file);
  return source.data === null ? NONE : new FrontMatterReader(source, file).read();
}

class FrontMatterReader {
  readonly #source: YamlSource;
  readonly #file: string;

  constructor(source: YamlSource, file: string) {
    this.#source = source;
    this.#file = file;
  }

  read(): FrontMatter {
    const { data } = this.#source;
    if (typeof data !== 'object' || Array.isArray(data))
      throw this.#error([], 'The front matter is not a list of fields.', 'Write it as `title: …` lines.');
    const { id, title, labels, dependsOn, paths, ...others } = data as Record<string, unknown>;
    for (const key of Object.keys(others)) {
      const near = nearest(key, Object.keys(NONE));
      if (near !== undefined)
        throw this.#error([key], `Unknown field ${quoted(key)}.`, `Did you mean ${quoted(near)}?`, 'key');
    }
    return {
      id: this.#id(id),
      title: title === undefined ? undefined : this.#text(title, ['title']),
      labels: this.#list(labels, 'labels').map(({ text }) => text),
      dependsOn: this.#list(dependsOn, 'dependsOn'),
      paths: this.#list(paths, 'paths').map(({ text }) => text),
    };
  }

  #id(value: unknown): string | undefined {
    if (value === undefined) return undefined;
    const id = this.#text(value, ['id']);
    const problem = idProblem(id);
    if (problem) throw this.#error(['id'], `The id ${quoted(id)} ${problem}.`, 'Choose another id.');
    return id;
  }

  /** A list, or one text with commas. */
  #list(value: unknown, key: string): Wait[] {
    if (value === undefined) return [];
    if (Array.isArray(value))
      return value.map((each, index) => ({
        text: this.#text(each, [key, index]),
        place: this.#place([key, index]),
      }));
    const place = this.#place([key]);
    const parts = this.#text(value, [key]).split(',');
    return parts.flatMap((part) => (part.trim() === '' ? [] : [{ text: part.trim(), place }]));
  }

  #text(value: unknown, path: Path): string {
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
    if (typeof value === 'number' && Number.isFinite(value)) return String(value);
    const field = String(path[0]);
    if (value === null || value === '') {
      const hint =
        field === 'dependsOn'
          ? 'Text that begins with # needs quotes: "#12".'
          : 'Fill it in, or leave it out.';
      throw this.#error(path, `The field ${quoted(field)} has no value.`, hint, 'key');
    }
    const wanted = field === 'labels' || field === 'dependsOn' ? 'a list of texts' : 'a text';
    const hint = 'Put quotes around text that YAML reads otherwise.';
    throw this.#error(path, `The field ${quoted(field)} must be ${wanted}.`, hint);
  }

  #place(path: Path, on?: 'key' | 'value'): string {
    const { line, column } = this.#source.at(path, on);
    return `${this.#file}:${line}:${column}`;
  }

  #error(path: Path, message: string, hint: string, on?: 'key' | 'value'): InputError {
    const details = { file: this.#file, ...this.#source.at(path, on) };
    return new InputError('markdown/front-matter', `${this.#place(path, on)}: ${message}`, { hint, details });
  }
}
