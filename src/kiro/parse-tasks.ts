import { buildTree } from './build-task-tree.ts';
import { type Collected, collect, newDraft, wordsOf } from './collect-task-drafts.ts';
import { readTitle, splitLines } from './parse-task-line.ts';
import { linkDependencies, readGraph } from './read-and-link-dependencies.ts';
import {
  error,
  inFile,
  type Note,
  type SpecProblem,
  type SpecSection,
  type SpecTask,
  warning,
} from './task.ts';

export interface ParsedTasks {
  /** Tasks without a parent, in the order of the file. */
  tasks: SpecTask[];
  /** Every task, in the order of the file. */
  all: SpecTask[];
  /** The first task of every id. */
  byId: Map<string, SpecTask>;
  sections: SpecSection[];
  problems: SpecProblem[];
}

const FORM = 'Write tasks as `- [ ] 1. Text`.';

/** Reads tasks.md in any of its forms, in linear time. Problems name the file `file`. */
export function parseTasks(text: string, file = 'tasks.md'): ParsedTasks {
  const source = splitLines(text);
  let collected = collect(source, false);
  const notes: Note[] = [];
  if (collected.drafts.length === 0) {
    collected = collect(source, true);
    if (collected.drafts.length === 0) headingsAsTasks(collected);
    const [first] = collected.drafts;
    const message =
      'The file has no check boxes: what is numbered counts as a task, and gets a ✅ when it is done.';
    if (first) notes.push(warning(first.line + 1, 'spec/no-boxes', message, FORM));
  }
  const tree = buildTree(collected);
  const graph = readGraph(
    collected,
    source.map((line) => line.text),
  );
  notes.push(...collected.notes, ...tree.notes, ...linkDependencies(tree, graph), ...doneNotes(tree.all));
  if (tree.all.length === 0) notes.push(error(1, 'spec/no-tasks', 'The file has no tasks.', FORM));
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

/** Uses numbered headings as tasks, for a file that has nothing else. */
function headingsAsTasks({ sections, drafts }: Collected): void {
  for (const section of sections) {
    if (section.number === null || section.level < 2 || section.kind !== 'tasks') continue;
    const given = readTitle(wordsOf(section.title));
    if (given.id === null) continue;
    const { title: rest, line } = section;
    const mark = given.ticked ? 'done' : 'open';
    section.draft = newDraft({ kind: 'heading', given, rest, line, section, mark });
    drafts.push(section.draft);
  }
}

/** Warns of ticked parents with open children: all of it counts as done. */
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
