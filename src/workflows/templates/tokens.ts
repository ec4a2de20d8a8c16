import type { Template } from 'liquidjs';

type Token = Template['token'];

/** A variable as written: `root.field…`. */
interface VariablePath {
  token: Token;
  root: string;
  field: string | undefined;
  /** The one after it: `root.field.member`. */
  member: string | undefined;
  optional: boolean;
}

/** Shapes of the library's parsed values; its guards are not at hand without loading it. */
interface Filtered {
  initial: { postfix: Iterable<unknown> };
  filters: { name: string; args: unknown[]; token?: Token }[];
}
interface Access extends Token {
  variable: unknown;
  props: unknown[];
}
interface Range {
  lhs: unknown;
  rhs: unknown;
}

/** All variables in a value, its filters' arguments included. `optional` says that the value may be missing. */
export function* pathsOf(value: unknown, optional: boolean): Generator<VariablePath> {
  if (isFiltered(value)) {
    const defaulted = optional || value.filters[0]?.name === 'default';
    for (const token of value.initial.postfix) yield* pathsOf(token, defaulted);
    for (const argument of argumentsOf(value)) yield* pathsOf(argument, false);
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

/** All filters in a value, with the place they stand at. */
export function* filtersOf(value: unknown): Generator<{ token: Token; name: string }> {
  if (!isFiltered(value)) return;
  for (const filter of value.filters) {
    const token = filter.token ?? (filter as unknown as Token);
    // The output's own escaping is appended as a filter without a place.
    if (token.input !== '') yield { token, name: filter.name };
  }
  for (const token of value.initial.postfix) yield* filtersOf(token);
}

function argumentsOf(value: Filtered): unknown[] {
  return value.filters.flatMap((filter) => filter.args.map((arg) => (Array.isArray(arg) ? arg[1] : arg)));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isFiltered(value: unknown): value is Filtered {
  return isObject(value) && 'initial' in value && 'filters' in value;
}

function isRange(value: unknown): value is Range {
  return isObject(value) && 'lhs' in value && 'rhs' in value;
}

function isAccess(value: unknown): value is Access {
  return isObject(value) && 'props' in value;
}

/** Words and quoted names have their text in `content`; numbers theirs too. */
function wordOf(token: unknown): string | undefined {
  if (!isObject(token) || isAccess(token) || !('content' in token)) return undefined;
  return String(token.content);
}
