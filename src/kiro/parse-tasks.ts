import { type Collected, collect } from './collect.ts';
import { settleDependencies } from './dependencies.ts';
import { newDraft } from './drafts.ts';
import { readGraph } from './graph.ts';
import { splitLines } from './lines.ts';
import {
  error,
  inFile,
  type Note,
  type SpecProblem,
  type SpecSection,
  type SpecTask,
  warning,
} from './task.ts';
import { readTitle } from './task-line.ts';
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

const FORM = 'Write tasks as `- [ ] 1. Text`.';

/** Reads tasks.md in any of its forms. Work grows with the size of the file and not with its square. */
export function parseTasks(text: string, options: ParseOptions = {}): ParsedTasks {
  const { file = 'tasks.md', star = 'optional' } = options;
  const source = splitLines(text);
  let collected = collect(source, { plain: false });
  const notes: Note[] = [];
  if (collected.drafts.length === 0) {
    collected = collect(source, { plain: true });
    if (collected.drafts.length === 0) headingsAsTasks(collected);
    const [first] = collected.drafts;
    const message =
      'The file has no check boxes: what is numbered counts as a task, and nothing can be ticked.';
    if (first) notes.push(warning(first.line + 1, 'spec/no-boxes', message, FORM));
  }
  const tree = buildTree(collected, star);
  const raw = source.map((line) => line.text);
  const graph = readGraph(collected, raw);
  notes.push(...collected.notes, ...tree.notes, ...settleDependencies(tree, graph), ...doneNotes(tree.all));
  if (tree.all.length === 0) notes.push(error(1, 'spec/no-tasks', 'There is no task in this file.', FORM));
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
    problems: notes.sort((a, b) => a.line - b.line).map((note) => inFile(file, note)),
  };
}

/** A file of numbered headings and nothing else. */
function headingsAsTasks({ sections, drafts }: Collected): void {
  for (const section of sections) {
    if (section.number === null || section.level < 2 || section.kind !== 'tasks') continue;
    const given = readTitle(section.title);
    if (given.id === null) continue;
    section.draft = newDraft({ kind: 'heading', given, rest: section.title, line: section.line, section });
    if (given.ticked) section.draft.mark = 'done';
    drafts.push(section.draft);
  }
}

/** Parents that are ticked above work that is not: they count as done, with a warning. */
function doneNotes(all: readonly SpecTask[]): Note[] {
  return all.flatMap((task) => {
    const open = task.mark === 'done' ? task.children.filter(isOpenLeaf) : [];
    if (open.length === 0) return [];
    const ids = open.slice(0, 5).map(({ id }) => id);
    const which = `${ids.join(', ')}${open.length > 5 ? '…' : ''} in it ${open.length === 1 ? 'is' : 'are'}`;
    const message = `Task ${task.id} is ticked and ${which} not: all of it counts as done.`;
    return warning(
      task.line,
      'spec/ticked-parent',
      message,
      `Untick ${task.id}, or name the rest with --only.`,
    );
  });
}

function isOpenLeaf({ optional, mark, box, children }: SpecTask): boolean {
  return !optional && mark !== 'done' && box !== null && children.length === 0;
}
