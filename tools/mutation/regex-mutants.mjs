// Small changes to a regular expression, each of which a test should notice.

/** Other patterns and flags for a pattern: an alternative, anchor, optional part, member of a class or flag less. */
export function regexMutants(pattern, flags) {
  const cuts = [];
  read(pattern, cuts);
  const patterns = cuts.map(({ start, end, by = '' }) => pattern.slice(0, start) + by + pattern.slice(end));
  const found = [...new Set(patterns)].filter((text) => text !== pattern && isPattern(text, flags));
  return [
    ...found.map((text) => ({ pattern: text, flags })),
    ...[...flags].map((flag) => ({ pattern, flags: flags.replace(flag, '') })),
  ];
}

function read(text, cuts) {
  /** Open groups, the whole pattern first: where each began and where its alternatives began. */
  const groups = [{ start: 0, alternatives: [0] }];
  let at = 0;
  while (at < text.length) {
    const char = text[at];
    if (char === '(') {
      const lead = /^\((?:\?(?:[:=!]|<[=!]|<\w+>))?/.exec(text.slice(at))[0];
      groups.push({ start: at, alternatives: [at + lead.length], isAround: /[=!]$/.test(lead) });
      at += lead.length;
    } else if (char === '|') {
      at += 1;
      groups.at(-1).alternatives.push(at);
    } else if (char === ')') {
      const group = groups.pop();
      endGroup(group, at, cuts);
      if (group.isAround) cuts.push({ start: group.start, end: at + 1 });
      at = quantified(text, group.start, at + 1, cuts);
    } else if (char === '^' || char === '$') {
      cuts.push({ start: at, end: at + 1 });
      at += 1;
    } else {
      const end = atomEnd(text, at);
      if (text.startsWith('\\b', at)) cuts.push({ start: at, end });
      if (char === '[') classMembers(text, at, end, cuts);
      at = quantified(text, at, end, cuts);
    }
  }
  endGroup(groups[0], text.length, cuts);
}

function endGroup({ alternatives }, end, cuts) {
  if (alternatives.length < 2) return;
  alternatives.forEach((start, index) => {
    const next = alternatives[index + 1];
    cuts.push(next === undefined ? { start: start - 1, end } : { start, end: next });
  });
}

function atomEnd(text, at) {
  if (text[at] === '\\') return at + 2;
  if (text[at] !== '[') return at + 1;
  let end = at + 1;
  while (text[end] !== ']') end += text[end] === '\\' ? 2 : 1;
  return end + 1;
}

function classMembers(text, at, end, cuts) {
  const body = at + (text[at + 1] === '^' ? 2 : 1);
  const members = [...text.slice(body, end - 1).matchAll(/(\\.|[^\\])(?:-(\\.|[^\\]))?/gs)];
  if (members.length > 1)
    for (const { 0: member, index } of members)
      cuts.push({ start: body + index, end: body + index + member.length });
}

/** The end of the quantifier after an atom. An optional atom may also be missing or required, a repeated one single. */
function quantified(text, start, end, cuts) {
  const [quantifier] = /^(?:[?*+]|\{\d+(?:,\d*)?\})\??/.exec(text.slice(end)) ?? [];
  if (quantifier === undefined) return end;
  const after = end + quantifier.length;
  if (/^(?:\?|\*|\{0,)/.test(quantifier)) cuts.push({ start, end: after });
  if (quantifier[0] === '*') cuts.push({ start: end, end: end + 1, by: '+' });
  else if (!quantifier.startsWith('{0,')) cuts.push({ start: end, end: after });
  return after;
}

function isPattern(text, flags) {
  try {
    new RegExp(text, flags);
    return true;
  } catch {
    return false;
  }
}
