import type { Template } from 'liquidjs';
import { InputError, orError } from '../../model/errors.ts';
import { capital } from '../../model/text/clean-escape-quote-plural.ts';
import { didYouMean, nearest } from '../../model/text/nearest-word.ts';
import { readPrompt } from '../find-workflows-prompts-scripts.ts';
import { findNunjucks, LIQUID_FILTERS } from './find-nunjucks-syntax.ts';
import { createEngine, plainMessage, type TemplateEngine, type TemplateKind } from './render-template.ts';

/** A place in a template: of the text itself, or of the prompt file `file`. Lines and columns count from 1. */
export interface TemplatePlace {
  file?: string;
  line: number;
  column: number;
}

/** A variable that a template reads and does not set itself. */
export interface TemplateUse extends TemplatePlace {
  root: string;
  field: string | undefined;
  /** The one after it: `root.field.member`. */
  member: string | undefined;
  /** In a condition or with a default: it may be missing. */
  optional: boolean;
}

export interface TemplateFault extends TemplatePlace {
  message: string;
  hint?: string;
}

interface Inspection {
  uses: TemplateUse[];
  faults: TemplateFault[];
  /** Texts of all prompts that this one includes, by name. */
  prompts: Record<string, string>;
}

type LoadPrompt = (name: string) => Promise<{ path: string; text: string } | undefined>;

/** Where the reading is: `scope` holds names the templates set, `within` the prompts that include this one. */
interface Frame {
  file?: string;
  scope: Set<string>;
  within: readonly string[];
}

interface Reading extends Inspection {
  engine: TemplateEngine;
  load: LoadPrompt;
  done: Set<string>;
}

type Token = Template['token'];

const engines = new Map<TemplateKind, Promise<TemplateEngine>>();

/** Reads a template without rendering it: what it uses, what it includes, what is wrong with it. */
export async function inspectTemplate(
  text: string,
  kind: TemplateKind,
  load: LoadPrompt,
): Promise<Inspection> {
  const engine = engines.get(kind) ?? createEngine(kind, {}, { strictFilters: false });
  engines.set(kind, engine);
  const reading: Reading = { uses: [], faults: [], prompts: {}, engine: await engine, load, done: new Set() };
  await readText(reading, text, { scope: new Set(), within: [] });
  const { uses, faults, prompts } = reading;
  return { uses, faults, prompts };
}

async function readText(reading: Reading, text: string, frame: Frame): Promise<void> {
  const found: Reading = { ...reading, uses: [], faults: [] };
  try {
    await readNodes(found, reading.engine.parse(text), frame);
  } catch (error) {
    const token = (error as { token?: Token }).token;
    if (!token) throw error;
    found.faults.push({ ...placeOf(token, frame), message: sentence(plainMessage(error)) });
  }
  const foreign = findNunjucks(text).map(({ begin, message, hint }) => ({
    ...placeAt(text, begin, frame),
    message,
    hint,
  }));
  // What a foreign construct leads to is no mistake of its own.
  const own = (place: TemplatePlace) =>
    !foreign.some(({ file, line }) => place.file === file && place.line === line);
  reading.faults.push(...foreign, ...found.faults.filter(own));
  reading.uses.push(...found.uses.filter((use) => own(use) || !FOREIGN_ROOTS.has(use.root)));
}

/** What Nunjucks words become when they are read as variables. */
const FOREIGN_ROOTS: ReadonlySet<string> = new Set(['loop', 'if', 'else', 'is', 'defined', 'none']);

async function readNodes(reading: Reading, nodes: Iterable<Template>, frame: Frame): Promise<void> {
  const { scope } = frame;
  for (const node of nodes) {
    const tag = (node.token as { name?: string }).name ?? '';
    const tested = tag === 'if' || tag === 'unless' || tag === 'case';
    for (const argument of node.arguments?.() ?? []) readValue(reading, argument, tested, frame);
    for (const local of node.localScope?.() ?? []) scope.add(local.content);
    if (tag === 'include' || tag === 'render') {
      await readPartial(reading, node, frame);
    } else if (node.children) {
      const block = [...(node.blockScope?.() ?? [])].filter((name) => !scope.has(name));
      for (const name of block) scope.add(name);
      await readNodes(reading, childrenOf(node), frame);
      for (const name of block) scope.delete(name);
    }
  }
}

/** Without partials a node gives its children at once. */
function childrenOf(node: Template): Template[] {
  const step = node.children?.(false, true).next();
  return step?.done ? step.value : [];
}

function readValue(reading: Reading, value: unknown, tested: boolean, frame: Frame): void {
  for (const { token, ...use } of pathsOf(value, tested)) {
    if (!frame.scope.has(use.root)) reading.uses.push({ ...use, ...placeOf(token, frame) });
  }
  const names = Object.keys(reading.engine.liquid.filters);
  for (const { token, name } of filtersOf(value)) {
    if (names.includes(name)) continue;
    const near = nearest(name, [...Object.keys(LIQUID_FILTERS), ...names]) ?? name;
    const meant = LIQUID_FILTERS[near] ?? (near === name ? undefined : near);
    const fault = { ...placeOf(token, frame), message: `There is no filter "${name}".` };
    reading.faults.push(meant ? { ...fault, hint: `Did you mean "${meant}"?` } : fault);
  }
}

async function readPartial(reading: Reading, node: Template, frame: Frame): Promise<void> {
  const place = placeOf(node.token, frame);
  const partial = node.partialScope?.();
  if (!partial) {
    const message = 'The name of an included prompt must be plain text in quotes.';
    reading.faults.push({ ...place, message });
  } else if (frame.within.includes(partial.name)) {
    reading.faults.push({ ...place, message: `Prompt "${partial.name}" includes itself.` });
  } else {
    const found = await loadPartial(reading, partial.name, place);
    if (!found) return;
    const names = [...partial.scope].map((item) => (typeof item === 'string' ? item : item[0]));
    const scope = new Set(partial.isolated ? [...names, 'forloop'] : [...names, ...frame.scope]);
    const key = JSON.stringify([partial.name, ...[...scope].sort()]);
    if (reading.done.has(key)) return;
    reading.done.add(key);
    await readText(reading, found.text, { file: found.path, scope, within: [...frame.within, partial.name] });
    if (!partial.isolated) for (const name of scope) frame.scope.add(name);
  }
}

async function loadPartial(reading: Reading, name: string, place: TemplatePlace) {
  const found = await orError(InputError, () => reading.load(name));
  if (found instanceof InputError) {
    reading.faults.push({ ...place, message: found.message, hint: found.hint });
    return undefined;
  }
  if (found) reading.prompts[name] = found.text;
  else reading.faults.push({ ...place, message: `There is no prompt "${name}" to include.` });
  return found;
}

const TAGS = 'assign capture case comment cycle echo elsif for if include raw render unless'.split(' ');

/** The library's words as a sentence of ours. */
function sentence(message: string): string {
  const tag = /^tag "(.*)" not found$/.exec(message);
  if (tag?.[1]) return `There is no tag "${tag[1]}".${didYouMean(tag[1], TAGS)}`;
  return `${capital(message)}.`;
}

function placeOf(token: Token, frame: Frame): TemplatePlace {
  const [line, column] = token.getPosition() as [number, number];
  return frame.file === undefined ? { line, column } : { file: frame.file, line, column };
}

function placeAt(text: string, offset: number, frame: Frame): TemplatePlace {
  const lines = text.slice(0, offset).split('\n');
  const place = { line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
  return frame.file === undefined ? place : { file: frame.file, ...place };
}

/** Texts of every prompt that a prompt includes, directly or not, by name. */
export async function readIncluded(text: string, dirs: readonly string[]): Promise<Record<string, string>> {
  if (!/\{%-?\s*(?:include|render|liquid)\b/.test(text)) return {};
  return (await inspectTemplate(text, 'text', (name) => readPrompt(name, dirs))).prompts;
}

/** A variable as written: `root.field…`. */
type VariablePath = Omit<TemplateUse, keyof TemplatePlace> & { token: Token };

/** Shapes of the library's parsed values; its guards are not at hand without loading it. */
interface Filtered {
  initial: { postfix: Iterable<unknown> };
  filters: { name: string; args: unknown[]; token?: Token }[];
}

/** All variables in a value, its filters' arguments included. `optional` says that the value may be missing. */
function* pathsOf(value: unknown, optional: boolean): Generator<VariablePath> {
  if (isFiltered(value)) {
    const defaulted = optional || value.filters[0]?.name === 'default';
    for (const token of value.initial.postfix) yield* pathsOf(token, defaulted);
    for (const argument of value.filters.flatMap(({ args }) => args))
      yield* pathsOf(Array.isArray(argument) ? argument[1] : argument, false);
  } else if (isRange(value)) {
    yield* pathsOf(value.lhs, optional);
    yield* pathsOf(value.rhs, optional);
  } else if (isAccess(value)) {
    const [root, next, third] = value.props;
    for (const prop of value.props) yield* pathsOf(prop, false);
    yield* pathsOf(value.variable, false);
    const name = wordOf(root);
    if (!value.variable && name !== undefined)
      yield { token: value, root: name, field: wordOf(next), member: wordOf(third), optional };
  }
}

/** All filters in a value, with their places. */
function* filtersOf(value: unknown): Generator<{ token: Token; name: string }> {
  if (!isFiltered(value)) return;
  for (const filter of value.filters) {
    const token = filter.token ?? (filter as unknown as Token);
    // The output's own escaping is appended as a filter without a place.
    if (token.input !== '') yield { token, name: filter.name };
  }
  for (const token of value.initial.postfix) yield* filtersOf(token);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isFiltered(value: unknown): value is Filtered {
  return isObject(value) && 'initial' in value && 'filters' in value;
}

function isRange(value: unknown): value is { lhs: unknown; rhs: unknown } {
  return isObject(value) && 'lhs' in value && 'rhs' in value;
}

function isAccess(value: unknown): value is Token & { variable: unknown; props: unknown[] } {
  return isObject(value) && 'props' in value;
}

/** Words and quoted names have their text in `content`; numbers theirs too. */
function wordOf(token: unknown): string | undefined {
  if (!isObject(token) || isAccess(token) || !('content' in token)) return undefined;
  return String(token.content);
}
