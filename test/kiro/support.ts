import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Units, unitsOf } from '../../src/kiro/group-tasks-into-units.ts';
import { parseTasks } from '../../src/kiro/parse-tasks.ts';
import type { SpecTask } from '../../src/kiro/task-and-problem-types.ts';

export const FIXTURES = fileURLToPath(new URL('../fixtures/specs/', import.meta.url));

export function fixture(name: string): string {
  return readFileSync(`${FIXTURES}${name}/tasks.md`, 'utf8');
}

const DEFAULTS: Partial<Record<keyof SpecTask, unknown>> = {
  numbered: true,
  kind: 'item',
  mark: 'open',
  done: false,
  optional: false,
  parallel: false,
  checkpoint: false,
  labels: [],
  wave: null,
  section: null,
  details: [],
  requirements: [],
  dependsOn: [],
  fields: {},
  children: [],
};

/** A tree as golden files have it: what a task has beyond the usual. */
export function golden(tasks: readonly SpecTask[]): object[] {
  return tasks.map((task) => {
    const shown = Object.entries(task).filter(
      ([key, value]) =>
        key !== 'parent' &&
        JSON.stringify(value) !== JSON.stringify(DEFAULTS[key as keyof SpecTask]) &&
        !(key === 'box' && value === null),
    );
    const box = task.box ? { box: `${task.box.line}:${task.box.column}` } : {};
    const names = (list: SpecTask['requirements']) => list.map(({ id, line }) => `${id} @${line}`);
    return {
      ...Object.fromEntries(shown),
      ...box,
      ...(task.requirements.length > 0 ? { requirements: names(task.requirements) } : {}),
      ...(task.dependsOn.length > 0 ? { dependsOn: names(task.dependsOn) } : {}),
      ...(task.children.length > 0 ? { children: golden(task.children) } : {}),
    };
  });
}

/** Problems as `line code`. */
export function found(text: string): string[] {
  return parseTasks(text).problems.map(({ line, code }) => `${line} ${code.replace('spec/', '')}`);
}

/** Ids and titles, children indented. */
export function outline(tasks: readonly SpecTask[], depth = 0): string[] {
  return tasks.flatMap((task) => [
    `${'  '.repeat(depth)}${task.id}: ${task.title}`,
    ...outline(task.children, depth + 1),
  ]);
}

export function units(text: string, options: Parameters<typeof unitsOf>[1] = {}): Units {
  return unitsOf(
    { ...parseTasks(text), files: { tasks: 'tasks.md', requirements: null, design: null } },
    options,
  );
}

/** Units as `id(work)`, those that are done with a tick. */
export function sayUnits({ units: list }: Units): string {
  return list
    .map(({ id, work, done }) => `${id}(${work.map((task) => task.id).join(' ')})${done ? '✓' : ''}`)
    .join(' ');
}
