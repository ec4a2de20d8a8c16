/** A construct that Nunjucks has and Liquid has not, with the Liquid form. `begin` is an offset into the template. */
interface NunjucksFinding {
  begin: number;
  message: string;
  hint: string;
}

/** Liquid names of filters that people know by another one. */
export const LIQUID_FILTERS: Readonly<Record<string, string>> = {
  length: 'size',
  count: 'size',
  upper: 'upcase',
  lower: 'downcase',
  trim: 'strip',
  tojson: 'json',
  dump: 'json',
  nl2br: 'newline_to_br',
  selectattr: 'where',
  d: 'default',
};

const LOOP: Readonly<Record<string, string>> = { revindex: 'rindex', revindex0: 'rindex0' };
const TAGS: Readonly<Record<string, string>> = {
  elif: 'Write {% elsif … %}.',
  elseif: 'Write {% elsif … %}.',
  endset: 'Write {% endcapture %}.',
  extends: "Put the common text into a prompt of its own and write {% include 'common.md' %}.",
  macro: "Put the text into a prompt of its own and write {% render 'name.md', argument: value %}.",
  import: "Write {% render 'name.md', argument: value %} where it is used.",
  from: "Write {% render 'name.md', argument: value %} where it is used.",
  call: "Write {% render 'name.md', argument: value %}.",
};

/** Finds what was written for Nunjucks. Text in {% raw %} is left alone. */
export function findNunjucks(text: string): NunjucksFinding[] {
  const live = text.replace(/\{%-?\s*raw\s*-?%\}[\s\S]*?\{%-?\s*endraw\s*-?%\}/g, (raw) =>
    ' '.repeat(raw.length),
  );
  const findings: NunjucksFinding[] = [];
  for (const match of live.matchAll(/\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\}|\{#[\s\S]*?#\}/g)) {
    findings.push(...inToken(match[0], match.index));
  }
  return findings;
}

function inToken(token: string, begin: number): NunjucksFinding[] {
  const found = (what: string, hint: string, at = 0): NunjucksFinding => ({
    begin: begin + at,
    message: `${what} is Nunjucks; templates are Liquid.`,
    hint,
  });
  if (token.startsWith('{#')) return [found('{# … #}', 'Write {% comment %} … {% endcomment %}.')];
  const tag = /^\{%-?\s*([a-z]+)\s*([\s\S]*?)\s*-?%\}$/.exec(token);
  if (tag?.[1] === 'set') return [found('{% set %}', setHint(tag[2] ?? ''))];
  if (tag?.[1] && Object.hasOwn(TAGS, tag[1])) return [found(`{% ${tag[1]} %}`, TAGS[tag[1]] ?? '')];
  // String contents are blanked, so that prose in quotes is never taken for code.
  const code = token.replace(
    /"[^"]*"|'[^']*'/g,
    (quoted) => quoted[0] + '\u0001'.repeat(quoted.length - 2) + quoted[0],
  );
  const findings: NunjucksFinding[] = [];
  for (const call of code.matchAll(/\|\s*([A-Za-z_]+)\s*\(([^()]*)\)/g)) {
    const name = call[1] ?? '';
    const args = token.slice(
      call.index + call[0].length - 1 - (call[2] ?? '').length,
      call.index + call[0].length - 1,
    );
    const liquid = LIQUID_FILTERS[name] ?? name;
    const hint = args.trim() === '' ? `Write | ${liquid}.` : `Write | ${liquid}: ${args.trim()}.`;
    findings.push(found(`${name}(…)`, hint, call.index + call[0].indexOf(name)));
  }
  for (const loop of code.matchAll(/(?<![\w.])loop\.(index0?|revindex0?|first|last|length)\b/g)) {
    const field = loop[1] ?? '';
    findings.push(found(loop[0], `Write forloop.${LOOP[field] ?? field}.`, loop.index));
  }
  const inline =
    token.startsWith('{{') && /^\{\{-?\s*(.+?)\s+if\s+(.+?)\s+else\s+(.+?)\s*-?\}\}$/s.exec(token);
  if (inline && / if .* else /s.test(code)) {
    const [, yes, test, no] = inline;
    findings.push(
      found('"… if … else …"', `Write {% if ${test} %}{{ ${yes} }}{% else %}{{ ${no} }}{% endif %}.`),
    );
  }
  const defined = /\s+is\s+(not\s+)?(defined|none|undefined)\b/.exec(code);
  if (defined)
    findings.push(
      found(`"${defined[0].trim()}"`, 'Write {% if name %}: null counts as false.', defined.index + 1),
    );
  const joined = token.startsWith('{{') ? code.indexOf('~') : -1;
  if (joined >= 0) findings.push(found('"~"', 'Write {{ a | append: b }}.', joined));
  return findings;
}

function setHint(args: string): string {
  return args.includes('=')
    ? `Write {% assign ${args} %}.`
    : `Write {% capture ${args} %} … {% endcapture %}.`;
}
