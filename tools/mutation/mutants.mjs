// Finds the small changes (mutants) of a source file, and writes the file with all of them behind a switch.
import { parseAst } from 'rolldown/parseAst';
import { regexMutants } from './regex-mutants.mjs';

const BOUNDARIES = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };
const ARITHMETIC = { '+': '-', '-': '+', '*': '/', '/': '*', '%': '*', '&': '|' };
const COMPARISONS = ['===', '!==', ...Object.keys(BOUNDARIES), 'in', 'instanceof'];
const DROPPED_METHODS = ['trim', 'slice', 'toLowerCase', 'replace', 'replaceAll', 'filter', 'reverse'];
const DROPPED_FUNCTIONS = ['Math.max', 'Math.min', 'Math.round', 'Math.floor', 'Math.ceil'];
const SEPARATED = ['split', 'join', 'replaceAll', 'startsWith', 'endsWith', 'includes'];
/** Which goes around which where several have the same range. */
const WRAPPINGS = ['statement', 'element', 'property', 'expression'];

/** Mutants of a file, from the declaration of `from` on and without those of `without`, in the order of the text. */
export function mutantsOf(code, { from, without = [] } = {}) {
  const { body } = parseAst(code, { lang: 'ts' });
  const isNamed = (node, names) => namesOf(node).some((name) => names.includes(name));
  const first = from === undefined ? 0 : body.findIndex((node) => isNamed(node, [from]));
  if (first < 0) throw new Error(`There is no declaration of ${from}.`);
  const mutants = [];
  const seen = new Set();
  const text = (node) => code.slice(node.start, node.end);
  const add = (node, by, wrapping = 'expression') => {
    const key = `${wrapping} ${node.start} ${node.end} ${by}`;
    if (seen.has(key) || by === text(node)) return;
    seen.add(key);
    const line = code.slice(0, node.start).split('\n').length;
    mutants.push({ start: node.start, end: node.end, wrapping, was: text(node), by, line });
  };
  for (const node of body.slice(first)) if (!isNamed(node, without)) visit(node);
  return mutants.sort((a, b) => a.start - b.start || b.end - a.end);

  function visit(node) {
    if (Array.isArray(node)) return node.forEach(visit);
    if (!node || typeof node.type !== 'string') return;
    if (/^TS(?:AsExpression|NonNullExpression|SatisfiesExpression)$/.test(node.type))
      return visit(node.expression);
    if (node.type.startsWith('TS') || node.type === 'ImportDeclaration') return;
    change(node);
    for (const [key, child] of Object.entries(node)) {
      const isName = (key === 'key' || key === 'property') && !node.computed;
      if (child && typeof child === 'object' && !isName) visit(child);
    }
  }

  function change(node) {
    switch (node.type) {
      case 'ExpressionStatement':
        return add(node, '', 'statement');
      case 'IfStatement':
      case 'ConditionalExpression':
        return condition(node.test, true, true);
      case 'ForStatement':
      case 'WhileStatement':
        return node.test && condition(node.test, false, true);
      case 'SwitchCase':
        return node.test && add(node.test, 'Symbol()');
      case 'LogicalExpression':
        if (node.operator !== '??' && isBoolean(node)) return condition(node, true, true);
        add(node, text(node.left));
        return add(node, text(node.right));
      case 'UnaryExpression':
        if (node.operator === '!') return condition(node, true, true);
        return node.operator === '-' ? add(node, text(node.argument)) : undefined;
      case 'BinaryExpression':
        return binary(node);
      case 'AssignmentExpression':
        if (node.operator === '+=') add(node, `${text(node.left)} -= ${text(node.right)}`);
        if (node.operator === '||=') add(node, `${text(node.left)} = ${text(node.right)}`);
        return undefined;
      case 'ArrayExpression':
        for (const each of node.elements) add(each, '', 'element');
        return undefined;
      case 'ObjectExpression':
        for (const each of node.properties)
          if (each.type === 'SpreadElement' || (each.kind === 'init' && !each.method))
            add(each, '', 'property');
        return undefined;
      case 'CallExpression':
        return call(node);
      case 'NewExpression':
        return newRegex(node);
      case 'ChainExpression':
        return chain(node);
      case 'Literal':
        return literal(node);
      default:
        return undefined;
    }
  }

  /** A condition that is always true or always false; of one with parts, without each of them. */
  function condition(node, canHold, canFail) {
    if (node.type === 'ParenthesizedExpression') return condition(node.expression, canHold, canFail);
    if (node.type === 'UnaryExpression' && node.operator === '!')
      return condition(node.argument, canFail, canHold);
    const isAnd = node.type === 'LogicalExpression' && node.operator === '&&';
    const isOr = node.type === 'LogicalExpression' && node.operator === '||';
    if (canHold && !isAnd) add(node, 'true');
    if (canFail && !isOr) add(node, 'false');
    if (isAnd || isOr) for (const part of [node.left, node.right]) condition(part, isAnd, isOr);
    return undefined;
  }

  function binary(node) {
    const { operator, left, right } = node;
    if (COMPARISONS.includes(operator) && !isInCondition(node)) condition(node, true, true);
    const other = BOUNDARIES[operator] ?? (isText(left) || isText(right) ? undefined : ARITHMETIC[operator]);
    if (other) add(node, `${operand(left)} ${other} ${operand(right)}`);
  }

  /** With the parentheses that the parser leaves out. */
  function operand(node) {
    return /^(?:Binary|Logical|Conditional)Expression$/.test(node.type) ? `(${text(node)})` : text(node);
  }

  /** Whether it is already changed as a part of a condition. */
  function isInCondition(node) {
    return ['true', 'false'].some((by) => seen.has(`expression ${node.start} ${node.end} ${by}`));
  }

  function call(node) {
    const { callee, arguments: args } = node;
    if (callee.type !== 'MemberExpression') return;
    const name = callee.property.name;
    const alone = (arg) => (arg.type === 'SpreadElement' ? `${text(callee)}(${text(arg)})` : text(arg));
    if (DROPPED_FUNCTIONS.includes(text(callee))) for (const each of args) add(node, alone(each));
    else if (DROPPED_METHODS.includes(name)) add(node, text(callee.object));
    if (SEPARATED.includes(name) && typeof args[0]?.value === 'string' && args[0].value !== '')
      add(args[0], "''");
  }

  function chain(node) {
    for (const { index } of text(node).matchAll(/\?\.(?![\d])/g)) {
      const rest = text(node).slice(index + 2);
      add(node, text(node).slice(0, index) + (/^[[(]/.test(rest) ? '' : '.') + rest);
    }
  }

  function literal(node) {
    if (node.regex) return regexes(node, node.regex.pattern, node.regex.flags);
    if (typeof node.value === 'boolean') add(node, String(!node.value));
    if (typeof node.value === 'number')
      add(node, String(node.value < 1000 ? node.value + 1 : node.value * 2));
    return undefined;
  }

  function newRegex({ callee, arguments: [pattern, flags] }) {
    const value = text(callee) === 'RegExp' ? constant(pattern) : undefined;
    if (value === undefined) return;
    for (const other of regexMutants(value, flags?.value ?? ''))
      if (other.pattern !== value) add(pattern, JSON.stringify(other.pattern));
      else add(flags, JSON.stringify(other.flags));
  }

  function regexes(node, pattern, flags) {
    for (const other of regexMutants(pattern, flags)) add(node, `/${other.pattern}/${other.flags}`);
  }
}

/** The file with a call of `globalThis.__mutant` at every mutant, which says whether that one is switched on. */
export function switched(code, mutants, firstId) {
  const groups = [];
  mutants.forEach((mutant, index) => {
    const { start, end, wrapping } = mutant;
    const same = groups.find(
      (group) => group.start === start && group.end === end && group.wrapping === wrapping,
    );
    const group = same ?? { start, end, wrapping, mutants: [] };
    if (!same) groups.push(group);
    group.mutants.push({ by: mutant.by, id: firstId + index });
  });
  groups.sort(
    (a, b) =>
      a.start - b.start || b.end - a.end || WRAPPINGS.indexOf(a.wrapping) - WRAPPINGS.indexOf(b.wrapping),
  );
  return render(0, code.length, groups);

  function render(start, end, inside) {
    let out = '';
    let at = start;
    for (let index = 0; index < inside.length; ) {
      const group = inside[index];
      let next = index + 1;
      while (next < inside.length && inside[next].start < group.end) next += 1;
      out += code.slice(at, group.start) + wrap(group, inside.slice(index + 1, next));
      at = group.end;
      index = next;
    }
    return out + code.slice(at, end);
  }

  function wrap(group, inside) {
    const was = render(group.start, group.end, inside);
    const isOn = (id) => `globalThis.__mutant(${id})`;
    const [{ id }] = group.mutants;
    if (group.wrapping === 'statement') return `{ if (!${isOn(id)}) { ${was} } }`;
    if (group.wrapping === 'element') return `...(${isOn(id)} ? [] : [${was}])`;
    if (group.wrapping === 'property') return `...(${isOn(id)} ? {} : {${was}})`;
    return `(${group.mutants.map((each) => `${isOn(each.id)} ? (${each.by}) : `).join('')}(${was}))`;
  }
}

function isBoolean(node) {
  if (node.type === 'ParenthesizedExpression') return isBoolean(node.expression);
  if (node.type === 'LogicalExpression') return isBoolean(node.left) || isBoolean(node.right);
  return (
    (node.type === 'BinaryExpression' && COMPARISONS.includes(node.operator)) ||
    (node.type === 'UnaryExpression' && node.operator === '!') ||
    (node.type === 'CallExpression' && node.callee.property?.name === 'test')
  );
}

function isText(node) {
  return node.type === 'TemplateLiteral' || typeof constant(node) === 'string';
}

/** The text of a literal, or of several that are added. */
function constant(node) {
  if (node.type === 'BinaryExpression' && node.operator === '+') {
    const parts = [constant(node.left), constant(node.right)];
    return parts.includes(undefined) ? undefined : parts.join('');
  }
  return typeof node.value === 'string' ? node.value : undefined;
}

function namesOf(node) {
  const declared = node.declaration ?? node;
  return [declared.id?.name, ...(declared.declarations ?? []).map((each) => each.id?.name)];
}
