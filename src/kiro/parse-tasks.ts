import { collect, type Note } from './collect.ts';
import { settleDependencies } from './depends.ts';
import { newDraft } from './draft.ts';
import { readGraph } from './graph.ts';
import { splitLines } from './lines.ts';
import type { SpecProblem, SpecSection, SpecTask } from './task.ts';
import { readTitle } from './title.ts';
import { buildTree, type Star } from './tree.ts';

export interface ParseOptions {
  /** The name that problems give to the file. */
  file?: string;
  /** What the star of `1.1*` means; the one of `[ ]*` is always optional. */
  star?: Star;
}

export interface ParsedTasks {
  /** Tasks without a parent, as they stand in the file. */
  tasks: SpecTask[];
  /** Every task, as they stand in the file. */
  all: SpecTask[];
  /** The first task of every id. */
  byId: Map<string, SpecTask>;
  sections: SpecSection[];
  problems: SpecProblem[];
}

/** Reads tasks.md in any of its forms. Work grows with the size of the file and not with its square. */
export function parseTasks(text: string, options: ParseOptions = {}): ParsedTasks {
  const source = splitLines(text);
  let collected = collect(source, { plain: false });
  const notes: Note[] = [];
  if (collected.drafts.length === 0) {
    collected = collect(source, { plain: true });
    if (collected.drafts.length === 0) headingsAsTasks(collected);
    if (collected.drafts.length > 0) notes.push(noBoxes(collected.drafts[0]?.line ?? 0));
  }
  const tree = buildTree(collected, options.star ?? 'optional');
  const graph = readGraph(
    collected,
    source.map((line) => line.text),
  );
  notes.push(...collected.notes, ...tree.notes, ...settleDependencies(tree, graph), ...doneNotes(tree.all));
  if (tree.all.length === 0) notes.push(empty());
  const file = options.file ?? 'tasks.md';
  return {
    tasks: tree.roots,
    all: tree.all,
    byId: tree.byId,
    sections: collected.sections.map(({ title, level, line, verify }) => ({
      title,
      level,
      line: line + 1,
      verify,
    })),
    problems: notes.sort((a, b) => a.line - b.line).map((note) => problem(note, file)),
  };
}

/** A file of numbered headings and nothing else. */
function headingsAsTasks({ sections, drafts }: ReturnType<typeof collect>): void {
  for (const section of sections) {
    if (section.number === null || section.level < 2 || section.kind !== 'tasks') continue;
    const given = readTitle(section.title);
    if (given.id === null) continue;
    section.draft = newDraft({ kind: 'heading', given, rest: section.title, line: section.line, section });
    if (given.ticked) section.draft.mark = 'done';
    drafts.push(section.draft);
  }
}

/** Parents that are ticked above work that is not: taken at their word, and said. */
function doneNotes(all: readonly SpecTask[]): Note[] {
  return all.flatMap((task) => {
    const open =
      task.mark === 'done' ? task.children.filter((child) => !child.optional && child.mark !== 'done') : [];
    const left = open.filter((child) => child.box !== null && child.children.length === 0);
    if (left.length === 0) return [];
    const ids = left.slice(0, 5).map(({ id }) => id);
    return {
      line: task.line - 1,
      code: 'spec/ticked-parent',
      severity: 'warning' as const,
      message: `Task ${task.id} is ticked and ${ids.join(', ')}${left.length > 5 ? '…' : ''} in it ${left.length === 1 ? 'is' : 'are'} not: all of it counts as done.`,
      hint: `Untick ${task.id}, or name the rest with --only.`,
    };
  });
}

function noBoxes(line: number): Note {
  return {
    line,
    code: 'spec/no-boxes',
    severity: 'warning',
    message: 'The file has no check boxes: what is numbered counts as a task, and nothing can be ticked.',
    hint: 'Write tasks as `- [ ] 1. Text`.',
  };
}

function empty(): Note {
  return {
    line: 0,
    code: 'spec/no-tasks',
    severity: 'error',
    message: 'There is no task in this file.',
    hint: 'Write tasks as `- [ ] 1. Text`.',
  };
}

function problem({ line, code, severity, message, hint }: Note, file: string): SpecProblem {
  return { file, line: line + 1, column: 1, message, ...(hint ? { hint } : {}), code, severity };
}
