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
  type Tasks,
  warning,
} from './task-and-problem-types.ts';

export interface ParsedTasks extends Tasks {
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
  const { tasks, all, byId } = tree;
  const lines = source.map((line) => line.text);
  const graph = readGraph(collected, lines);
  notes.push(...collected.notes, ...tree.notes, ...linkDependencies(tree, graph));
  notes.push(...doneNotes(all), ...blockedNotes(all));
  if (all.length === 0) notes.push(error(1, 'spec/no-tasks', 'The file has no tasks.', FORM));
  const sections = collected.sections.map(({ title, level, line, verify }) => {
    return { title, level, line: line + 1, verify };
  });
  const problems = notes.sort((a, b) => a.line - b.line).map((note) => inFile(file, note));
  return { tasks, all, byId, sections, problems };
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
    const hint = `Untick ${task.id}, or name the rest with --only.`;
    return warning(task.line, 'spec/ticked-parent', message, hint);
  });
}

/** Warns of `_Blocked_` where it blocks nothing. */
function blockedNotes(all: readonly SpecTask[]): Note[] {
  return all.flatMap(({ id, line, title, fields, done }) => {
    const isInTitle = /(?<![\p{L}\p{N}])[*_]{1,3}Blocked[*_]*\s*[:：]/iu.test(title);
    const isEmpty = fields.blocked?.some((reason) => reason.trim() === '') ?? false;
    if (done || !(isInTitle || isEmpty)) return [];
    const message = `Task ${id} is not blocked: its \`_Blocked_\` ${isInTitle ? 'is part of its title' : 'has no reason'}.`;
    return warning(line, 'spec/not-blocked', message, 'Write `_Blocked: reason_` on a line below the task.');
  });
}

function isOpenLeaf({ optional, mark, box, children }: SpecTask): boolean {
  return !optional && mark !== 'done' && box !== null && children.length === 0;
}
