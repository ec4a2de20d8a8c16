import type { Path, YamlSource } from '../config/yaml-source.ts';
import { InputError } from '../model/errors.ts';
import { idProblem } from '../model/ids.ts';
import { quoted } from '../model/text/clean.ts';
import { nearest } from '../model/text/near.ts';
import type { Wait } from './item.ts';

export interface FrontMatter {
  id: string | undefined;
  title: string | undefined;
  labels: string[];
  dependsOn: Wait[];
  paths: string[];
}

const KEYS = ['id', 'title', 'labels', 'dependsOn', 'paths'];
const NONE: FrontMatter = { id: undefined, title: undefined, labels: [], dependsOn: [], paths: [] };

/** Parts a file with `---` around its first lines; `yaml` keeps its line numbers. */
export function splitFrontMatter(text: string): {
  yaml: string | undefined;
  body: string;
  unclosed: boolean;
} {
  const lines = text.split('\n');
  if (!/^---[ \t]*$/.test(lines[0] ?? '')) return { yaml: undefined, body: text, unclosed: false };
  const end = lines.findIndex((line, index) => index > 0 && /^(---|\.\.\.)[ \t]*$/.test(line));
  // A rule across the page is the other meaning of a first line of dashes.
  if (end < 0) return { yaml: undefined, body: text, unclosed: /^\w[\w-]*[ \t]*:/.test(lines[1] ?? '') };
  const yaml = ['', ...lines.slice(1, end)].join('\n');
  return { yaml, body: lines.slice(end + 1).join('\n'), unclosed: false };
}

/** Reads the fields that mean something here; others belong to other tools, unless they look like a slip. */
export async function readFrontMatter(yaml: string, file: string): Promise<FrontMatter> {
  const { parseYaml } = await import('../config/yaml-source.ts');
  const source = parseYaml(yaml, file);
  if (source.data === null) return NONE;
  if (typeof source.data !== 'object' || Array.isArray(source.data))
    throw bad(file, source, [], 'The front matter is not a list of fields.', 'Write it as `title: …` lines.');
  const data = source.data as Record<string, unknown>;
  for (const key of Object.keys(data)) {
    const near = KEYS.includes(key) ? undefined : nearest(key, KEYS);
    if (near !== undefined)
      throw bad(file, source, [key], `Unknown field ${quoted(key)}.`, `Did you mean ${quoted(near)}?`, 'key');
  }
  return {
    id: readId(data.id, file, source),
    title: data.title === undefined ? undefined : scalar(data.title, ['title'], file, source),
    labels: list(data.labels, 'labels', file, source).map(({ text }) => text),
    dependsOn: list(data.dependsOn, 'dependsOn', file, source),
    paths: list(data.paths, 'paths', file, source).map(({ text }) => text),
  };
}

function readId(value: unknown, file: string, source: YamlSource): string | undefined {
  if (value === undefined) return undefined;
  const id = scalar(value, ['id'], file, source);
  const problem = idProblem(id);
  if (problem) throw bad(file, source, ['id'], `The id ${quoted(id)} ${problem}.`, 'Choose another id.');
  return id;
}

/** A list, or one text with commas. */
function list(value: unknown, key: string, file: string, source: YamlSource): Wait[] {
  if (value === undefined) return [];
  if (Array.isArray(value))
    return value.map((each, index) => ({
      text: scalar(each, [key, index], file, source),
      place: placeText(file, source, [key, index]),
    }));
  const place = placeText(file, source, [key]);
  const parts = scalar(value, [key], file, source).split(',');
  return parts.flatMap((part) => (part.trim() === '' ? [] : [{ text: part.trim(), place }]));
}

function scalar(value: unknown, path: Path, file: string, source: YamlSource): string {
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  const field = String(path[0]);
  if (value === null || value === '') {
    const hint =
      field === 'dependsOn' ? 'Text that begins with # needs quotes: "#12".' : 'Fill it in, or leave it out.';
    throw bad(file, source, path, `The field ${quoted(field)} has no value.`, hint, 'key');
  }
  const wanted = field === 'labels' || field === 'dependsOn' ? 'a list of texts' : 'a text';
  throw bad(
    file,
    source,
    path,
    `The field ${quoted(field)} must be ${wanted}.`,
    'Put quotes around text that YAML reads otherwise.',
  );
}

function placeText(file: string, source: YamlSource, path: Path, on?: 'key' | 'value'): string {
  const { line, column } = source.at(path, on);
  return `${file}:${line}:${column}`;
}

function bad(
  file: string,
  source: YamlSource,
  path: Path,
  message: string,
  hint: string,
  on?: 'key' | 'value',
): InputError {
  const details = { file, ...source.at(path, on) };
  return new InputError('markdown/front-matter', `${placeText(file, source, path, on)}: ${message}`, {
    hint,
    details,
  });
}
