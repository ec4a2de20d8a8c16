import type { Problem } from '../config/parse-yaml-and-place-problems.ts';

/** Something wrong in a spec. An error keeps the spec from running; a warning is only shown. */
export interface SpecProblem extends Problem {
  code: string;
  severity: 'error' | 'warning';
}

/** A problem before the name of its file is known. Lines count from 1. */
export type Note = Omit<SpecProblem, 'file' | 'column'>;

export function warning(line: number, code: string, message: string, hint?: string): Note {
  return { line, code, severity: 'warning', message, ...(hint ? { hint } : {}) };
}

export function error(line: number, code: string, message: string, hint?: string): Note {
  return { ...warning(line, code, message, hint), severity: 'error' };
}

export function inFile(file: string, { line, code, severity, ...said }: Note): SpecProblem {
  return { file, line, column: 1, ...said, code, severity };
}

export type Mark = 'open' | 'queued' | 'started' | 'done';

/** The position of the one character that a tick changes. */
export interface Box {
  /** From 1. */
  line: number;
  /** Of the character between the brackets, in UTF-16 units from 0. */
  column: number;
  /** The character itself. */
  text: string;
}

/** An id that a task names, and the line it is on. */
export interface Named {
  id: string;
  line: number;
}

export interface SpecTask {
  id: string;
  /** False where the file gives no id and this one was made from the title. */
  numbered: boolean;
  title: string;
  /** A section is a numbered heading that only groups what is below it. */
  kind: 'item' | 'heading' | 'section';
  /** From 1. */
  line: number;
  /** Null where there is nothing to tick, as in most headings. */
  box: Box | null;
  /** What its own box says. */
  mark: Mark;
  /** Its own mark is done, or that of a parent, or all of its required children are done. */
  done: boolean;
  /** Marked as optional, or inside a task that is. */
  optional: boolean;
  /** Marked as fit to run in parallel with others. */
  parallel: boolean;
  /** A pause to check everything: needs no agent. */
  checkpoint: boolean;
  /** `[US1]` and the like. */
  labels: string[];
  /** Position among the waves, from 0. */
  wave: number | null;
  /** The heading above it. */
  section: string | null;
  /** Its bullets and paragraphs, without those that are fields. A code block is one detail of many lines. */
  details: string[];
  requirements: Named[];
  /** Ids of tasks that come first, all of them known. */
  dependsOn: Named[];
  /** `_Boundary: X_`, `_Files: a_`, `**Verify**: cmd` and so on, by lower-case name. */
  fields: Record<string, string[]>;
  parent: string | null;
  children: SpecTask[];
}

/** A heading of tasks.md with the commands that check whether its part is done. */
export interface SpecSection {
  title: string;
  level: number;
  line: number;
  verify: string[];
}

/** The task and everything below it, parents first. */
export function withDescendants(task: SpecTask): SpecTask[] {
  const found: SpecTask[] = [];
  const left = [task];
  for (let next = left.pop(); next; next = left.pop()) {
    found.push(next);
    for (const child of [...next.children].reverse()) left.push(child);
  }
  return found;
}

/** The tasks of a file. */
export interface Tasks {
  /** Those without a parent, in the order of the file. */
  tasks: SpecTask[];
  /** Every task, in the order of the file. */
  all: SpecTask[];
  /** The first task of every id. */
  byId: Map<string, SpecTask>;
}

export function parentOf({ byId }: Pick<Tasks, 'byId'>, { parent }: SpecTask): SpecTask | undefined {
  return parent === null ? undefined : byId.get(parent);
}

/** The parents of a task, the innermost first. */
export function ancestorsOf(tasks: Pick<Tasks, 'byId'>, task: SpecTask): SpecTask[] {
  const found: SpecTask[] = [];
  for (let above = parentOf(tasks, task); above; above = parentOf(tasks, above)) found.push(above);
  return found;
}

/** Whether a task has work of its own: it has no required children. */
export function isWork(task: SpecTask): boolean {
  return task.optional ? task.children.length === 0 : task.children.every((child) => child.optional);
}
