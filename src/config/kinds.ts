/** What a setting may hold: plain data, so that checks, types, JSON Schema and docs all come from it. */
export type Kind =
  | { is: 'text' }
  /** A path: `~` is expanded, a relative one is relative to the file that has it. */
  | { is: 'path' }
  /** An executable: a name to look up on PATH, or a path. */
  | { is: 'command' }
  /** A path or pattern inside the repository. */
  | { is: 'inside' }
  | { is: 'choice'; of: readonly string[] }
  | { is: 'whole'; min: number; max?: number }
  | { is: 'number'; above?: number; min?: number; max?: number }
  | { is: 'list'; of: Kind }
  | { is: 'record'; keys: 'name' | 'variable'; of: Kind }
  | { is: 'object'; fields: Record<string, Field> }
  | { is: 'maybe'; of: Kind };

export interface Field {
  kind: Kind;
  about: string;
}

export type ValueOf<K> = K extends { is: 'whole' | 'number' }
  ? number
  : K extends { is: 'choice'; of: readonly (infer C)[] }
    ? C
    : K extends { is: 'list'; of: infer O }
      ? ValueOf<O>[]
      : K extends { is: 'record'; of: infer O }
        ? Record<string, ValueOf<O>>
        : K extends { is: 'object'; fields: infer F }
          ? { [N in keyof F]?: F[N] extends { kind: infer O } ? ValueOf<O> : never }
          : K extends { is: 'maybe'; of: infer O }
            ? ValueOf<O> | null
            : string;

const KEYS = {
  name: { pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$', text: 'letters, digits, "_" and "-"' },
  variable: { pattern: '^[A-Za-z_][A-Za-z0-9_]*$', text: 'letters, digits and "_", not a digit first' },
} as const;

export function keyRule(keys: keyof typeof KEYS): { pattern: string; text: string } {
  return KEYS[keys];
}

export function isScalar(kind: Kind): boolean {
  if (kind.is === 'maybe') return isScalar(kind.of);
  return kind.is !== 'list' && kind.is !== 'record' && kind.is !== 'object';
}

export function found(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (typeof value !== 'string') return String(value);
  return `the text ${JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)}`;
}

export function allowed(kind: Kind): string {
  switch (kind.is) {
    case 'text':
      return 'text';
    case 'path':
      return 'a path';
    case 'command':
      return 'the name or path of an executable';
    case 'inside':
      return 'a relative path or pattern without ".."';
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
  }
}

function range(kind: { above?: number; min?: number; max?: number }): string {
  const low =
    kind.above !== undefined
      ? `above ${kind.above}`
      : kind.min !== undefined
        ? `of at least ${kind.min}`
        : '';
  const high = kind.max !== undefined ? `at most ${kind.max}` : '';
  return [low, high]
    .filter((part) => part !== '')
    .map((part, index) => (index === 0 ? ` ${part}` : ` and ${part}`))
    .join('');
}
