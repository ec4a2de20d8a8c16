import { cleanLine } from '../model/text/clean.ts';
import { headingAt, isUnderline } from '../model/text/markdown-lines.ts';
import type { Box, Mark } from './task.ts';
import { boxHeading, markOf, readTitle, type Title } from './task-line.ts';

/** A heading, while tasks.md is read. */
export interface Section {
  title: string;
  level: number;
  /** Index of the line. */
  line: number;
  parent: Section | null;
  /** `2` for `## 2. Core` and `### Phase 2`. */
  number: string | null;
  wave: number | null;
  kind: 'tasks' | 'legend' | 'checklist' | 'graph';
  verify: string[];
  /** The task that this heading is, if it is one. */
  draft: Draft | null;
}

/** A task before ids and parents are settled. */
export interface Draft {
  kind: 'item' | 'heading' | 'section';
  given: Title;
  /** Everything behind the box, for titles whose number turns out to be a word. */
  rest: string;
  line: number;
  /** The id is only the number of a list item. */
  marker: boolean;
  indent: number;
  box: Box | null;
  mark: Mark;
  /** The task whose list item contains it. */
  inside: Draft | null;
  section: Section | null;
  /** With the indexes of their first and last lines. */
  details: { text: string; line: number; last: number }[];
}

export function newDraft(draft: Pick<Draft, 'kind' | 'given' | 'rest' | 'line' | 'section'>): Draft {
  return { marker: false, indent: 0, box: null, mark: 'open', inside: null, details: [], ...draft };
}

/** The nearest heading that is a task, from the innermost out. */
export function headingTask(section: Section | null): Draft | null {
  for (let each = section; each; each = each.parent) if (each.draft) return each.draft;
  return null;
}

const PHASE =
  /^(?:phase|stage|milestone|part|section|step|sprint|iteration|group|epic|フェーズ|ステップ|阶段|第|fase|этап)\s*#?(\d{1,4})(?!\p{N})/iu;
const WAVE = /^(?:wave|ウェーブ|波次)\s*#?(\d{1,4})(?!\p{N})/iu;
const LEGEND =
  /(?:^|\s)(?:legend|status(?:es)? (?:key|legend|markers?)|task status(?:es)?|凡例|图例|圖例|leyenda|légende|legende)(?:$|[\s:])/iu;
const CHECKLIST =
  /definition of (?:done|ready)|check ?list|(?:acceptance|success|exit|completion|entry) criteria|sign[ -]?off|チェックリスト|检查清单/iu;
const GRAPH =
  /dependenc(?:y|ies) (?:graph|map|tree|order|diagram|chart)|^(?:task |inter-?task )?dependencies$|execution (?:order|plan|waves)|^waves?$|wave (?:plan|graph|overview)|依存(?:関係|グラフ)|依赖(?:关系|图)?|dependencias|abhängigkeiten/iu;

/** The heading on a line, below those that are open, and its number of lines. Bold lines do not count: details are full of them. */
export function sectionAt(
  lines: readonly string[],
  index: number,
  open: Section | null,
  raw: string,
): { section: Section; height: number } | undefined {
  const heading = headingAt(lines, index);
  if (!heading || heading.level > 6) return undefined;
  const atx = /^ {0,3}#/.test(lines[index] ?? '');
  if (!atx && !isUnderline(lines[index + 1] ?? '')) return undefined;
  let parent = open;
  while (parent && parent.level >= heading.level) parent = parent.parent;
  const words = wordsOf(heading.text);
  const given = readTitle(words);
  const wave = WAVE.exec(words)?.[1];
  const section: Section = {
    title: cleanLine(heading.text),
    level: heading.level,
    line: index,
    parent,
    number: given.id ?? PHASE.exec(words)?.[1] ?? wave ?? null,
    wave: wave === undefined ? (parent?.wave ?? null) : Number(wave),
    kind: given.id === null ? kindOf(heading.text, parent) : 'tasks',
    verify: [],
    draft: null,
  };
  section.draft = taskIn(section, words, raw);
  return { section, height: atx ? 1 : 2 };
}

/** A heading without the emoji and signs before its first word. */
export function wordsOf(heading: string): string {
  return heading.replace(/^[^\p{L}\p{N}[*_<(]+/u, '');
}

function kindOf(text: string, parent: Section | null): Section['kind'] {
  if (LEGEND.test(text)) return 'legend';
  if (CHECKLIST.test(text)) return 'checklist';
  if (GRAPH.test(text)) return 'graph';
  return parent?.kind ?? 'tasks';
}

/** `### Task 1.1: Title ✅` and `### [ ] 1.1 Title` are tasks themselves. */
function taskIn(section: Section, words: string, raw: string): Draft | null {
  const { line } = section;
  const box = boxHeading(raw);
  const mark = box ? markOf(box.text) : undefined;
  const given = readTitle(box && mark ? box.rest : words);
  if (!(box && mark) && !(given.worded && given.id !== null)) return null;
  const draft = newDraft({ kind: 'heading', given, rest: box?.rest ?? words, line, section });
  draft.mark = mark ?? (given.ticked ? 'done' : 'open');
  if (box?.text.length === 1) draft.box = { line: line + 1, column: box.column, text: box.text };
  return draft;
}
