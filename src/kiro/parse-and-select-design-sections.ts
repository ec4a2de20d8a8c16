import { cleanLine, cleanText } from '../model/text/clean-escape-quote-plural.ts';
import { headingAt, visibleLines } from '../model/text/markdown-lines.ts';
import { requirementKey } from './parse-and-find-requirements.ts';
import { splitLines } from './parse-task-line.ts';

export interface DesignSection {
  title: string;
  level: number;
  line: number;
  /** Without the sections inside it. */
  text: string;
}

/** Splits design.md at its headings. */
export function parseDesign(text: string): DesignSection[] {
  const raw = splitLines(text).map((line) => line.text);
  const lines = visibleLines(raw.join('\n'));
  const starts = lines.flatMap((_, index) => {
    const heading = headingAt(lines, index);
    return heading && heading.level < 7 ? [{ ...heading, index }] : [];
  });
  return starts.map(({ level, text: title, index, height }, place) => ({
    title: cleanLine(title),
    level,
    line: index + 1,
    text: raw
      .slice(index + height, starts[place + 1]?.index)
      .join('\n')
      .trim(),
  }));
}

const FILLER = new Set(
  'a an and the of to for in on with by from as at is are be or all new add create implement write update build make set up use using task tasks test tests unit property support handle file files code design overview'.split(
    ' ',
  ),
);
const OVERVIEW =
  /^(?:\d+[.)]?\s*)?(?:overview|summary|introduction|概要|概述|简介|resumen|überblick|обзор)/iu;
const MAX_OVERVIEW = 1_500;
const MAX_DESIGN = 8_000;

/**
 * The sections whose headings share words with the tasks or that mention their requirements, best first until the
 * maximum length is reached, in the order of the file. The overview comes first where there is one.
 */
export function relevantDesign(
  sections: readonly DesignSection[],
  words: string,
  requirements: readonly string[],
): string {
  const wanted = wordsOf(words);
  const keys = new Set(requirements.map(requirementKey));
  const isOverview = ({ title }: DesignSection) => OVERVIEW.test(title);
  const full = sections.filter(({ text }) => text !== '');
  const scored = full
    .filter((section) => !isOverview(section))
    .map((section) => ({ section, points: score(section, wanted, keys) }))
    .filter(({ points }) => points > 0)
    .sort((a, b) => b.points - a.points);
  const chosen = new Map<DesignSection, string>();
  let left = MAX_DESIGN;
  const add = (section: DesignSection, most: number) => {
    const text = `${'#'.repeat(section.level)} ${section.title}\n\n${cleanText(section.text, most)}`;
    chosen.set(section, text);
    left -= text.length;
  };
  const overview = full.find(isOverview);
  if (overview) add(overview, MAX_OVERVIEW);
  for (const { section } of scored) if (left > 200) add(section, left);
  return sections.flatMap((section) => chosen.get(section) ?? []).join('\n\n');
}

function score(
  { title, text }: DesignSection,
  wanted: ReadonlySet<string>,
  keys: ReadonlySet<string>,
): number {
  const shared = [...wordsOf(title)].filter((word) => wanted.has(word)).length;
  return shared * 3 + Math.min(3, mentions(text, keys));
}

/** Counts mentions such as `Requirements 1.1, 2.3` in a section. */
function mentions(text: string, keys: ReadonlySet<string>): number {
  if (keys.size === 0) return 0;
  let count = 0;
  for (const [, list = ''] of text.matchAll(/\b(?:requirements?|reqs?)[:\s*_]+([\w.,\s–-]{1,200})/gi))
    for (const [id] of list.matchAll(/(?:[A-Z]{1,8}[-_]?)?\d+(?:\.\d+)*/g))
      if (keys.has(requirementKey(id))) count += 1;
  return count;
}

/** Words; camelCase names are split, scripts without spaces give pairs of characters. */
function wordsOf(text: string): Set<string> {
  const words = new Set<string>();
  const spaced = text.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').toLowerCase();
  for (const [word] of spaced.matchAll(/[\p{L}\p{N}]+/gu)) {
    if (/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(word))
      for (let at = 0; at + 2 <= word.length; at += 1) words.add(word.slice(at, at + 2));
    else if (word.length > 1 && !FILLER.has(word) && !/^\d+$/.test(word)) words.add(singular(word));
  }
  return words;
}

function singular(word: string): string {
  return word.length > 3 ? word.replace(/(?<!s)s$/, '') : word;
}
