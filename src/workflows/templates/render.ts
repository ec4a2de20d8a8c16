import { InputError } from '../../model/errors.ts';
import { capital } from '../../model/text/clean.ts';
import { composeCommand } from '../../model/text/shell-quote.ts';
import { MAX_PROMPT_BYTES } from '../find.ts';
import { createEngine, plainMessage, type TemplateEngine, type TemplateKind } from './engine.ts';
import { readIncluded } from './inspect.ts';

interface RenderOptions {
  /** Prompt texts by name, for {% include %} and {% render %}: a pinned workflow's. */
  prompts?: Readonly<Record<string, string>>;
  /** Directories to take them from instead. */
  dirs?: readonly string[];
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
  const prompts = options.prompts ?? (options.dirs ? await readIncluded(text, options.dirs) : undefined);
  const name = options.name ?? 'the prompt';
  const rendered = isTemplate(text) ? await render(await engineFor(prompts), text, variables, name) : text;
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
  return await render(await sharedEngine('text'), text, variables, `the argument ${JSON.stringify(text)}`);
}

/** Renders a shell command with every value quoted, so that ticket text can never become shell. */
export async function renderCommand(text: string, variables: Variables): Promise<string> {
  if (!isTemplate(text)) return text;
  const name = `the command ${JSON.stringify(text)}`;
  if (text.includes('\0'))
    throw new InputError('template/command', `${capital(name)} holds a NUL character.`);
  const marked = await render(await sharedEngine('command'), text, variables, name);
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

function engineFor(prompts: Readonly<Record<string, string>> | undefined): Promise<TemplateEngine> {
  if (!prompts) return sharedEngine('text');
  const known = withPrompts.get(prompts) ?? createEngine('text', prompts);
  withPrompts.set(prompts, known);
  return known;
}

function sharedEngine(kind: TemplateKind): Promise<TemplateEngine> {
  const engine = shared.get(kind) ?? createEngine(kind);
  shared.set(kind, engine);
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
