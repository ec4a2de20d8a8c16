import { expandPath } from '../machine/paths-and-user-home.ts';
import { ISSUE_PHASES } from '../model/issue-phases.ts';

/** Directories for paths that are not absolute. */
export interface Bases {
  /** Relative paths are relative to this directory. */
  base: string;
  /** The directory that `~` means. */
  userHome: string;
}

interface TextKind {
  allowed: string;
  /** For editors: what JSON Schema can say of it. */
  schema: Record<string, unknown>;
  /** The value as it is used; undefined if it is not allowed. */
  read(value: string, bases: Bases): string | undefined;
}

const isPath = (value: string) => !/^~[^/]/.test(value);
const expanded = (value: string, { base, userHome }: Bases) => expandPath(value, base, userHome);
const ORIGIN = '^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\\s]+/?$';
/** The characters of a ref name. Git refuses more than this; an option or an expression is refused here. */
const REF = '^[^-\\s~^:?*[\\\\][^\\s~^:?*[\\\\]*$';

/** Kinds of settings that are written as one text. */
export const TEXT_KINDS = {
  text: { allowed: 'text', schema: { minLength: 1 }, read: (value) => value },
  /** `~` is expanded, a relative path is relative to the file that has it. */
  path: {
    allowed: 'a path',
    schema: { minLength: 1 },
    read: (value, bases) => (isPath(value) ? expanded(value, bases) : undefined),
  },
  /** An executable: a name to look up on PATH, or a path. */
  command: {
    allowed: 'the name or path of an executable',
    schema: { pattern: '^[^-\\n]' },
    read(value, bases) {
      if (value.includes('\n') || value.startsWith('-')) return undefined;
      return value.includes('/') ? expanded(value, bases) : value;
    },
  },
  /** Inside the repository. */
  inside: {
    allowed: 'a relative path or pattern without ".."',
    schema: { pattern: '^(?![/~-])(?!(.*/)?\\.\\.(/|$)).' },
    read: (value) => (/^[/~-]/.test(value) || value.split('/').includes('..') ? undefined : value),
  },
  /** A path that stays relative to the project that is worked on, which is known later. */
  project: {
    allowed: 'a path, relative to the project',
    schema: { minLength: 1 },
    read: (value, bases) =>
      isPath(value) ? (value.startsWith('~') ? expanded(value, bases) : value) : undefined,
  },
  /** May hold a key: it is never shown whole. */
  url: {
    allowed: 'an address that begins with http:// or https://',
    schema: { pattern: '^[Hh][Tt][Tt][Pp][Ss]?://' },
    read: (value) => (/^https?:\/\//i.test(value) && URL.canParse(value) ? value : undefined),
  },
  /** The address of a whole site, which is shown. */
  origin: {
    allowed: 'an address that begins with http:// or https:// and has no path',
    schema: { pattern: ORIGIN },
    read: (value) => (new RegExp(ORIGIN).test(value) && URL.canParse(value) ? value : undefined),
  },
  ref: {
    allowed: 'the name of a branch',
    schema: { pattern: REF },
    read: (value) => (new RegExp(REF).test(value) && !value.includes('..') ? value : undefined),
  },
} satisfies Record<string, TextKind>;

/** What a setting may hold: plain data, so that checks, types, JSON Schema and docs all come from it. */
export type Kind =
  | { is: keyof typeof TEXT_KINDS }
  | { is: 'boolean' }
  | { is: 'choice'; of: readonly string[] }
  /** `flag`: how a refusal names it, wherever the value came from. */
  | { is: 'whole'; min: number; max?: number; flag?: string; unit?: 'seconds' }
  | { is: 'number'; above?: number; min?: number; max?: number }
  | { is: 'list'; of: Kind }
  | { is: 'record'; keys: 'name' | 'variable' | 'phase' | 'repository'; of: Kind }
  | { is: 'object'; fields: Record<string, Field> }
  | { is: 'maybe'; of: Kind };

export const text = { is: 'text' } as const;
export const path = { is: 'path' } as const;
export const command = { is: 'command' } as const;
export const inside = { is: 'inside' } as const;
export const boolean = { is: 'boolean' } as const;
export const choice = <const T extends readonly string[]>(of: T) => ({ is: 'choice', of }) as const;
export const whole = (rule: Omit<Kind & { is: 'whole' }, 'is'>) => ({ is: 'whole', ...rule }) as const;
export const number = (rule: Omit<Kind & { is: 'number' }, 'is'>) => ({ is: 'number', ...rule }) as const;
export const list = <const K extends Kind>(of: K) => ({ is: 'list', of }) as const;
export const maybe = <const K extends Kind>(of: K) => ({ is: 'maybe', of }) as const;
export const record = <const K extends Kind>(keys: (Kind & { is: 'record' })['keys'], of: K) =>
  ({ is: 'record', keys, of }) as const;
export const object = <const F extends Record<string, Field>>(fields: F) =>
  ({ is: 'object', fields }) as const;
export const field = <const K extends Kind>(kind: K, about: string) => ({ kind, about }) as const;

interface Field {
  kind: Kind;
  about: string;
  required?: true;
}

export type ValueOf<K> = K extends { is: 'whole' | 'number' }
  ? number
  : K extends { is: 'boolean' }
    ? boolean
    : K extends { is: 'choice'; of: readonly (infer C)[] }
      ? C
      : K extends { is: 'list'; of: infer O }
        ? ValueOf<O>[]
        : K extends { is: 'record'; of: infer O }
          ? Record<string, ValueOf<O>>
          : K extends { is: 'object'; fields: infer F }
            ? FieldsOf<F>
            : K extends { is: 'maybe'; of: infer O }
              ? ValueOf<O> | null
              : string;

type FieldValue<F> = F extends { kind: infer O } ? ValueOf<O> : never;
type FieldsOf<F> = {
  [N in keyof F as F[N] extends { required: true } ? N : never]: FieldValue<F[N]>;
} & { [N in keyof F as F[N] extends { required: true } ? never : N]?: FieldValue<F[N]> };

/** What the names in a record look like. */
export const KEYS = {
  name: {
    pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$',
    text: 'may contain only letters, digits, "_" and "-"',
  },
  variable: {
    pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
    text: 'may contain only letters, digits and "_", not a digit first',
  },
  repository: {
    pattern:
      '^(([A-Za-z0-9.-]+(:[0-9]+)?/)?[A-Za-z0-9_-]+/[A-Za-z0-9._-]+|[a-z][a-z0-9+]*://[^\\s:]+(:[0-9]+)?/\\S+|[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:\\S+)$',
    text: 'is not owner/repo, host/owner/repo, or the address of a repository without a password',
  },
  phase: {
    pattern: `^(${ISSUE_PHASES.join('|').replace('_', '[_-]')})$`,
    text: `is none of the phases ${ISSUE_PHASES.join(', ')}`,
  },
} as const;

export function isScalar(kind: Kind): boolean {
  if (kind.is === 'maybe') return isScalar(kind.of);
  return kind.is !== 'list' && kind.is !== 'record' && kind.is !== 'object';
}

export function found(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (typeof value !== 'string') return String(value);
  return value.trim() === '' ? 'an empty text' : `the text ${JSON.stringify(cut(value))}`;
}

/** The message for a bad number; the same for flags, files, variables and library callers. */
export function refusal(kind: Kind & { is: 'whole' }, value: unknown): string {
  const plain = typeof value === 'number' || (typeof value === 'string' && value.trim() !== '');
  const shown = plain ? String(value) : (JSON.stringify(value) ?? 'nothing');
  const most = kind.max === undefined ? '' : ` of at most ${kind.max}`;
  const what = kind.min === 0 ? 'zero or a positive integer' : 'a positive integer';
  return `Invalid ${kind.flag} value: ${cut(shown)}. Must be ${what}${most}.`;
}

function cut(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

export function allowed(kind: Kind): string {
  switch (kind.is) {
    case 'boolean':
      return 'true or false';
    case 'choice':
      return `one of ${kind.of.join(', ')}`;
    case 'whole':
    case 'number':
      return `a ${kind.is === 'whole' ? 'whole ' : ''}number${range(kind)}`;
    case 'list':
      return `a list, each ${allowed(kind.of)}`;
    case 'record':
      return 'a mapping by name';
    case 'object':
      return `a mapping with ${Object.keys(kind.fields).join(', ')}`;
    case 'maybe':
      return `${allowed(kind.of)}, or null`;
    default:
      return TEXT_KINDS[kind.is].allowed;
  }
}

function range({ above, min, max }: { above?: number; min?: number; max?: number }): string {
  const low = above !== undefined ? ` above ${above}` : min !== undefined ? ` of at least ${min}` : '';
  return max === undefined ? low : `${low}${low && ' and'} at most ${max}`;
}

/** One setting. */
export interface Row {
  kind: Kind;
  /** A relative path is relative to the directory the config file's data goes to. */
  default: unknown;
  about: string;
  /** Names what will be executed or obeyed: a file of a repository may set it only when that is trusted. */
  runs?: true;
  /** What it decides, if that is not what is run. */
  decides?: string;
  /** A directory that is written to: a file of a repository may lead it out of the project only when that is trusted. */
  written?: true;
  /** The flag, if it is not the key in kebab-case; null if no command has one. */
  flag?: string | null;
  /** The flag's short form. */
  letter?: string;
  /** The flag's help text, if `about` does not fit: for a switch that is on, what happens without it. */
  help?: string;
  /** Of settings of runs: the option's name, if it is not the key's. */
  option?: string;
}

/** One row of the table: what a setting holds, its default, and a sentence about it. */
export function row<const K extends Kind>(
  kind: K,
  preset: unknown,
  about: string,
  more: Omit<Row, 'kind' | 'default' | 'about'> = {},
): Omit<Row, 'kind'> & { kind: K } {
  return { kind, default: preset, about, ...more };
}
