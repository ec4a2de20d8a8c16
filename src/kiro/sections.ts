import { cleanLine } from '../model/text/clean.ts';
import { headingAt, isUnderline } from '../model/text/headings.ts';
import { boxHeading, markOf } from './box.ts';
import { newDraft, type Section } from './draft.ts';
import { readTitle } from './title.ts';

const PHASE =
  /^(?:phase|stage|milestone|part|section|step|sprint|iteration|group|epic|フェーズ|ステップ|阶段|第|fase|этап)\s*#?(\d{1,4})(?!\p{N})/iu;
const WAVE = /^(?:wave|ウェーブ|波次)\s*#?(\d{1,4})(?!\p{N})/iu;
const LEGEND =
  /(?:^|\s)(?:legend|status(?:es)? (?:key|legend|markers?)|task status(?:es)?|凡例|图例|圖例|leyenda|légende|legende)(?:$|[\s:])/iu;
const CHECKLIST =
  /definition of (?:done|ready)|check ?list|(?:acceptance|success|exit|completion|entry) criteria|sign[ -]?off|チェックリスト|检查清单/iu;
const GRAPH =
  /dependenc(?:y|ies) (?:graph|map|tree|order|diagram|chart)|^(?:task |inter-?task )?dependencies$|execution (?:order|plan|waves)|^waves?$|wave (?:plan|graph|overview)|依存(?:関係|グラフ)|依赖(?:关系|图)?|dependencias|abhängigkeiten/iu;

export interface Opened {
  section: Section;
  /** Lines that the heading takes. */
  height: number;
}

/** The heading on a line, below those that are open. Bold lines are no headings here: details are full of them. */
export function sectionAt(
  lines: readonly string[],
  index: number,
  open: Section | null,
  raw: string,
): Opened | undefined {
  const heading = headingAt(lines, index);
  if (!heading || heading.level > 6) return undefined;
  const atx = /^ {0,3}#/.test(lines[index] ?? '');
  if (!atx && !isUnderline(lines[index + 1] ?? '')) return undefined;
  let parent = open;
  while (parent && parent.level >= heading.level) parent = parent.parent;
  const words = heading.text.replace(/^[^\p{L}\p{N}[*_<(]+/u, '');
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
  asTask(section, words, raw, index);
  return { section, height: atx ? 1 : 2 };
}

function kindOf(text: string, parent: Section | null): Section['kind'] {
  if (LEGEND.test(text)) return 'legend';
  if (CHECKLIST.test(text)) return 'checklist';
  if (GRAPH.test(text)) return 'graph';
  return parent?.kind ?? 'tasks';
}

/** `### Task 1.1: Title ✅` and `### [ ] 1.1 Title` are tasks themselves. */
function asTask(section: Section, words: string, raw: string, index: number): void {
  const box = boxHeading(raw);
  const mark = box ? markOf(box.text) : undefined;
  const given = readTitle(box && mark ? box.rest : words);
  if (!(box && mark) && !(given.worded && given.id !== null)) return;
  const draft = newDraft({ kind: 'heading', given, rest: box?.rest ?? words, line: index, section });
  draft.mark = mark ?? (given.ticked ? 'done' : 'open');
  if (box?.text.length === 1) draft.box = { line: index + 1, column: box.column, text: box.text };
  section.draft = draft;
}
