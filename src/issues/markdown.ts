import { basename } from 'node:path';
import { repositoryText } from '../github/gh/repository-name.ts';
import { readTextFile } from '../machine/files/text-file.ts';
import { InputError } from '../model/errors.ts';
import { slug } from '../model/ids.ts';
import { cleanLabels, cleanLine, cleanText } from '../model/text/clean.ts';
import { headingAt, isUnderline } from '../model/text/headings.ts';
import { visibleLines } from '../model/text/markdown-lines.ts';
import { acceptanceCriteria, isCriteriaTitle } from './criteria.ts';
import { type FrontMatter, readFrontMatter, splitFrontMatter } from './front-matter.ts';
import type { Source, Sourced, Wait, WorkItem } from './item.ts';
import { dependencyMentions } from './mentions.ts';
import { orError, problemOf } from './problem.ts';
import { type MarkdownReference, parseReference } from './reference.ts';

const EMPTY: FrontMatter = { id: undefined, title: undefined, labels: [], dependsOn: [], paths: [] };

/** Issues in local files: front matter id, title, labels and dependsOn; the rest is the text. */
export const markdownSource: Source<MarkdownReference> = {
  kind: 'markdown',
  async fetch(references) {
    const results = await Promise.all(
      references.map((reference) =>
        orError(
          () => readIssueFile(reference),
          (error) => problemOf(reference.text, error),
        ),
      ),
    );
    return {
      found: results.flatMap((result) => ('item' in result ? [result] : [])),
      problems: results.flatMap((result) => ('item' in result ? [] : [result])),
    };
  },
};

/** The issue that a file has; nothing for other references, and for files that cannot be read. */
export async function issueInFile(text: string, options: { cwd: string }): Promise<WorkItem | undefined> {
  const reference = parseReference(text, options);
  if (reference.kind !== 'markdown') return undefined;
  return orError(
    async () => (await readIssueFile(reference)).item,
    () => undefined,
  );
}

async function readIssueFile(reference: MarkdownReference): Promise<Sourced<MarkdownReference>> {
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
  const front = parts.yaml === undefined ? EMPTY : await readFrontMatter(parts.yaml, path);
  const { title, body } = takeTitle(parts.body);
  const id = front.id ?? slug(fileName(path), 80);
  const clean = cleanText(body);
  if (`${front.title ?? ''}${title}${clean}`.trim() === '')
    throw new InputError('markdown/empty', `${path} says nothing of what is to be done.`, {
      hint: 'Give it a title (# Title) and a text.',
      details: { file: path },
    });
  return {
    reference,
    item: {
      key: front.id === undefined ? `markdown:${path}` : `markdown:${front.id}`,
      id,
      number: null,
      title: cleanLine(front.title ?? '') || title || cleanLine(words(fileName(path))) || id,
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
  const isHeading = (index: number) => (headingAt(seen, index)?.level ?? 7) < 7;
  const first = seen.findIndex((_, index) => isHeading(index));
  const text = first < 0 ? '' : (headingAt(seen, first)?.text ?? '');
  const section = isCriteriaTitle(text) || isDescription(text);
  if (first >= 0 && !section) lines.splice(first, height(seen, first));
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
    .slice(height(lines, 0))
    .join('\n')
    .replace(/^(?:[ \t]*\n)+/, '');
}

/** A heading by underlining has two lines. */
function height(lines: readonly string[], index: number): number {
  return /^ {0,3}#/.test(lines[index] ?? '') || !isUnderline(lines[index + 1] ?? '') ? 1 : 2;
}

function isDescription(text: string): boolean {
  return /^\W*description\W*$/i.test(text);
}

function fileName(path: string): string {
  return basename(path).replace(/\.(md|markdown)$/i, '');
}

function words(name: string): string {
  return name.replace(/[-_]+/g, ' ');
}
