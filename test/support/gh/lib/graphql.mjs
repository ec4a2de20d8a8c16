const TOKENS = /\s+|,|#[^\n]*|(\.\.\.|[{}()[\]:!=@$]|"(?:\\.|[^"\\])*"|-?\d+(?:\.\d+)?|[A-Za-z_]\w*)/g;

/**
 * Answers a query out of plain objects: a field is a property, a function of its arguments, or a list. Lists that are
 * asked for `nodes` are connections with pages. Enough of GraphQL for the queries we send; the rest is an error.
 */
export function execute(text, variables, root, unknownFields = []) {
  const { selections, fragments, names } = parse(text);
  const unknown = names.filter((name) => unknownFields.includes(name));
  if (unknown.length > 0) return { errors: [...new Set(unknown)].map(undefinedField) };
  const run = { variables, fragments, errors: [], invalid: [] };
  const data = select(run, selections, root, []);
  if (run.invalid.length > 0) return { errors: run.invalid };
  return run.errors.length > 0 ? { data, errors: run.errors } : { data };
}

function undefinedField(name, type = 'Issue') {
  const code = 'undefinedField';
  return {
    message: `Field '${name}' doesn't exist on type '${type}'`,
    extensions: { code, typeName: type, fieldName: name },
  };
}

function parse(text) {
  const tokens = [...text.matchAll(TOKENS)].flatMap(([, token]) => token ?? []);
  let at = 0;
  const names = [];
  const peek = () => tokens[at];
  const take = (wanted) => {
    const token = tokens[at++];
    if (wanted !== undefined && token !== wanted)
      throw new Error(`expected ${wanted} but found ${token}: ${text}`);
    return token;
  };
  const accept = (wanted) => {
    if (peek() !== wanted) return false;
    at += 1;
    return true;
  };
  const skipTo = (end) => {
    while (peek() !== end) take();
  };
  const value = () => {
    const token = take();
    if (token === '$') return { variable: take() };
    if (token === '[') return listOf(']', value);
    if (token === '{') return Object.fromEntries(listOf('}', pair));
    if (token.startsWith('"')) return JSON.parse(token);
    if (/^-?\d/.test(token)) return Number(token);
    return { true: true, false: false, null: null }[token] ?? token;
  };
  const pair = () => {
    const name = take();
    take(':');
    return [name, value()];
  };
  const listOf = (end, one) => {
    const all = [];
    while (peek() !== end) all.push(one());
    take(end);
    return all;
  };
  const selectionSet = () => {
    take('{');
    return listOf('}', selection);
  };
  const selection = () => {
    if (accept('...')) {
      if (!accept('on')) return { spread: take() };
      return { on: take(), selections: selectionSet() };
    }
    const first = take();
    const name = accept(':') ? take() : first;
    names.push(name);
    const args = accept('(') ? Object.fromEntries(listOf(')', pair)) : {};
    return { name, alias: first, args, selections: peek() === '{' ? selectionSet() : undefined };
  };
  const fragments = {};
  let selections = [];
  while (at < tokens.length) {
    if (accept('fragment')) {
      const name = take();
      take('on');
      fragments[name] = { on: take(), selections: selectionSet() };
    } else {
      skipTo('{');
      selections = selectionSet();
    }
  }
  return { selections, fragments, names };
}

function select(run, selections, object, path) {
  const out = {};
  for (const each of selections) {
    const inside = each.spread ? run.fragments[each.spread] : each;
    if (inside.on) {
      if (inside.on === object.__typename) Object.assign(out, select(run, inside.selections, object, path));
      continue;
    }
    out[each.alias] = resolve(run, each, object, [...path, each.alias]);
  }
  return out;
}

function resolve(run, field, object, path) {
  const found = object[field.name];
  if (found === undefined) {
    run.invalid.push(undefinedField(field.name, object.__typename));
    return null;
  }
  const args = fill(run, field.args);
  try {
    const value = typeof found === 'function' ? found(args) : found;
    return complete(run, field, args, value, path);
  } catch (error) {
    if (!error.type) throw error;
    run.errors.push({ type: error.type, path, message: error.message });
    return null;
  }
}

function complete(run, field, args, value, path) {
  if (value === null || field.selections === undefined) return value;
  if (!Array.isArray(value)) return select(run, field.selections, value, path);
  const before = args.before ? Number(args.before) : value.length;
  const start = args.after ? Number(args.after) : args.last ? Math.max(0, before - args.last) : 0;
  const end = Math.min(before, start + (args.first ?? args.last ?? value.length));
  const nodes = value.slice(start, end);
  const pageInfo = {
    hasNextPage: end < value.length,
    endCursor: String(end),
    hasPreviousPage: start > 0,
    startCursor: String(start),
  };
  const connection = { nodes: undefined, totalCount: value.length, pageInfo };
  return Object.fromEntries(
    field.selections.map((each) => {
      if (each.name === 'nodes')
        return [
          each.alias,
          nodes.map((node, index) => select(run, each.selections, node, [...path, 'nodes', index])),
        ];
      if (each.name === 'pageInfo')
        return [each.alias, select(run, each.selections, connection.pageInfo, path)];
      return [each.alias, connection[each.name]];
    }),
  );
}

function fill(run, value) {
  if (Array.isArray(value)) return value.map((each) => fill(run, each));
  if (typeof value !== 'object' || value === null) return value;
  if ('variable' in value) return run.variables[value.variable] ?? undefined;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, fill(run, each)]));
}
