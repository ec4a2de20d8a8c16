import type { Liquid, LiquidOptions, Template } from 'liquidjs';
import { messageOf } from '../../model/errors.ts';
import { within } from '../../model/text/prompt-tags.ts';

type LiquidModule = typeof import('liquidjs');

let loaded: Promise<LiquidModule> | undefined;

/** The template library is loaded when the first template is met: most commands never meet one. */
function liquidModule(): Promise<LiquidModule> {
  loaded ??= import('liquidjs');
  return loaded;
}

/** A template that computes for long or grows without end is stopped. */
const LIMITS = { parseLimit: 5_000_000, renderLimit: 10_000, memoryLimit: 50_000_000 };
const MOST_PARSED = 500;

/** Not in prompts: page layout, and the filter that would switch off quoting in commands. */
const NO_TAGS = ['layout', 'block', 'tablerow'];
/** In a command every output must be quoted where it stands, so nothing may render into a variable or from a file. */
const NO_COMMAND_TAGS = [...NO_TAGS, 'capture', 'include', 'render'];

export type TemplateKind = 'text' | 'command';

export interface TemplateEngine {
  liquid: Liquid;
  /** Parses, or gives back what an equal text was parsed to. */
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
  const { Liquid } = await liquidModule();
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
    return within(printable(value), marks.map(String));
  });
  const parsed = new Map<string, Template[]>();
  return {
    liquid,
    nameOf: (text) => Object.keys(partials).find((name) => partials[name] === text),
    parse(text) {
      const known = parsed.get(text);
      if (known) return known;
      const templates = liquid.parse(text);
      const oldest = parsed.size >= MOST_PARSED ? parsed.keys().next().value : undefined;
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

/** Fences each value with NUL, so that it can be told from the command's own text afterwards. */
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
