import type { Liquid, LiquidOptions, Template } from 'liquidjs';
import { InputError, messageOf } from '../../model/errors.ts';
import { capital, escapeTags } from '../../model/text/clean-escape-quote-plural.ts';
import { composeCommand } from '../../model/text/quote-values-for-shell.ts';
import { MAX_PROMPT_BYTES } from '../find-workflows-prompts-scripts.ts';

interface RenderOptions {
  /** Prompt texts by name, for {% include %} and {% render %}: a pinned workflow's. */
  prompts?: Readonly<Record<string, string>>;
  /** What error messages call this template. */
  name?: string;
}

type Variables = Readonly<Record<string, unknown>>;

const shared = new Map<TemplateKind, Promise<TemplateEngine>>();
const withPrompts = new WeakMap<object, Promise<TemplateEngine>>();

/** Renders a prompt. Values are data: what looks like a template in them stays text. */
export async function renderPrompt(
  text: string,
  variables: Variables,
  options: RenderOptions = {},
): Promise<string> {
  const name = options.name ?? 'the prompt';
  const rendered = isTemplate(text)
    ? await render(await engineFor('text', options.prompts), text, variables, name)
    : text;
  const size = Buffer.byteLength(rendered);
  if (size <= MAX_PROMPT_BYTES) return rendered;
  throw new InputError(
    'prompt/too-large',
    `With its variables, ${name} has ${size} bytes; at most ${MAX_PROMPT_BYTES} are allowed.`,
    {
      hint: `${sayLargest(text, variables)}, or let the agent read large material from files in the worktree.`,
      details: { size },
    },
  );
}

/** What to shorten: the variable that takes most of the room, among those that the template itself names. */
function sayLargest(text: string, variables: Variables): string {
  const sizes = Object.entries(variables)
    .filter(([name]) => text.includes(name))
    .map(([name, value]) => ({ name, size: Buffer.byteLength(JSON.stringify(value) ?? '') }))
    .sort((a, b) => b.size - a.size);
  const [largest] = sizes;
  if (!largest || largest.size * 2 < MAX_PROMPT_BYTES) return 'Shorten the prompt or what it includes';
  return `Shorten {{ ${largest.name} }}, which takes most of it`;
}

/** Renders one argument of a script. It reaches the script as one argument, whatever it holds. */
export async function renderArg(text: string, variables: Variables): Promise<string> {
  if (!isTemplate(text)) return text;
  return await render(await engineFor('text'), text, variables, `the argument ${JSON.stringify(text)}`);
}

/** Renders a shell command with every value quoted, so that ticket text can never become shell. */
export async function renderCommand(text: string, variables: Variables): Promise<string> {
  if (!isTemplate(text)) return text;
  const name = `the command ${JSON.stringify(text)}`;
  if (text.includes('\0'))
    throw new InputError('template/command', `${capital(name)} holds a NUL character.`);
  const marked = await render(await engineFor('command'), text, variables, name);
  return composeCommand(marked.split('\0'));
}

/** Text without these is its own rendering, and needs no template library. */
export function isTemplate(text: string): boolean {
  return text.includes('{{') || text.includes('{%');
}

async function render(
  engine: TemplateEngine,
  text: string,
  variables: Variables,
  name: string,
): Promise<string> {
  try {
    const values = { ...variables };
    return String(await engine.liquid.render(engine.parse(text), values, { globals: values }));
  } catch (error) {
    throw renderError(error, name, (part) => (part === text ? undefined : engine.nameOf(part)));
  }
}

function engineFor(kind: TemplateKind, prompts?: RenderOptions['prompts']): Promise<TemplateEngine> {
  const engine = (prompts ? withPrompts.get(prompts) : shared.get(kind)) ?? createEngine(kind, prompts);
  if (prompts) withPrompts.set(prompts, engine);
  else shared.set(kind, engine);
  return engine;
}

function renderError(error: unknown, name: string, partial: (text: string) => string | undefined): Error {
  if (error instanceof InputError) return error;
  const { token } = error as { token?: { input: string; getPosition(): [number, number] } };
  const [line, column] = token?.getPosition() ?? [];
  const message = plainMessage(error);
  const file = token && partial(token.input);
  const of = file ? ` of "${file}"` : '';
  const where = line === undefined ? '' : ` (line ${line}, column ${column}${of})`;
  return new InputError('template/render', `${capital(name)} cannot be rendered: ${message}${where}.`, {
    hint: '`signalbox workflow check` finds such mistakes before anything runs.',
    details: { line, column, file },
    cause: error,
  });
}

/** A template that computes for long or grows without end is stopped. */
const LIMITS = { parseLimit: 5_000_000, renderLimit: 10_000, memoryLimit: 50_000_000 };
const MAX_PARSED_TEMPLATES = 500;

/** Not in prompts: page layout, and the filter that would switch off quoting in commands. */
const NO_TAGS = ['layout', 'block', 'tablerow'];
/** In a command every output must be quoted in place, so no tag may render into a variable or from a file. */
const NO_COMMAND_TAGS = [...NO_TAGS, 'capture', 'include', 'render'];

export type TemplateKind = 'text' | 'command';

export interface TemplateEngine {
  liquid: Liquid;
  /** Parses, or returns what an equal text was parsed to. */
  parse(text: string): Template[];
  /** The name of the partial that has this text. */
  nameOf(text: string): string | undefined;
}

/** An engine whose partials come from memory and from nowhere else. */
export async function createEngine(
  kind: TemplateKind,
  partials: Readonly<Record<string, string>> = {},
  options: { strictFilters?: boolean } = {},
): Promise<TemplateEngine> {
  // The template library is loaded when the first template is met: most commands never meet one.
  const { Liquid } = await import('liquidjs');
  const liquid = new Liquid({
    strictVariables: true,
    strictFilters: options.strictFilters ?? true,
    lenientIf: true,
    ownPropertyOnly: true,
    relativeReference: false,
    // Else the library asks Intl for it, which takes 15 ms to load.
    locale: 'en-US',
    root: ['.'],
    fs: memoryFiles(partials),
    cache: true,
    outputEscape: kind === 'command' ? markValue : printable,
    ...LIMITS,
  });
  for (const name of kind === 'command' ? NO_COMMAND_TAGS : NO_TAGS) delete liquid.tags[name];
  delete liquid.filters.raw;
  liquid.registerFilter('within', (value: unknown, ...marks: unknown[]) => {
    if (marks.length === 0) throw new Error('the filter "within" needs the name of a mark');
    return escapeTags(printable(value), marks.map(String));
  });
  const parsed = new Map<string, Template[]>();
  return {
    liquid,
    nameOf: (text) => Object.keys(partials).find((name) => partials[name] === text),
    parse(text) {
      const known = parsed.get(text);
      if (known) return known;
      const templates = liquid.parse(text);
      const oldest = parsed.size >= MAX_PARSED_TEMPLATES ? parsed.keys().next().value : undefined;
      if (oldest !== undefined) parsed.delete(oldest);
      parsed.set(text, templates);
      return templates;
    },
  };
}

/** What an output prints: objects and lists as JSON, nothing for null. */
function printable(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value);
}

/** The library's message without the place it appends. */
export function plainMessage(error: unknown): string {
  return messageOf(error).replace(/(?:, file:[^\n]*?)?, line:\d+, col:\d+$/, '');
}

/** Puts NUL around each value, to separate it from the command's own text afterwards. */
function markValue(value: unknown): string {
  const text = printable(value);
  if (text.includes('\0')) throw new Error('a value holds a NUL character, which no command line can');
  return `\0${text}\0`;
}

function memoryFiles(partials: Readonly<Record<string, string>>): NonNullable<LiquidOptions['fs']> {
  const has = (name: string) => Object.hasOwn(partials, name);
  const read = (name: string) => {
    const text = partials[name];
    if (text === undefined || !has(name)) throw new Error(`there is no prompt "${name}"`);
    return text;
  };
  return {
    sep: '/',
    resolve: (_dir, name) => name,
    exists: async (name) => has(name),
    existsSync: has,
    readFile: async (name) => read(name),
    readFileSync: read,
  };
}
