import { relative } from 'node:path';
import type { Spec } from '../kiro/read-spec.ts';
import type { SpecProblem, SpecTask } from '../kiro/task.ts';
import type { Unit } from '../kiro/units.ts';
import { plural } from '../model/text/plural.ts';
import { oneLine, type Style } from './style.ts';
import { table } from './table.ts';

interface Shown {
  spec: Pick<Spec, 'name' | 'kind' | 'files' | 'tasks' | 'all'>;
  units: readonly Unit[];
}

interface Near {
  look: Style;
  /** Paths are shown relative to it. */
  cwd: string;
}

/** A spec for the terminal: its tasks, then its units in order. */
export function specText({ spec, units }: Shown, { look, cwd }: Near): string {
  const done = spec.all.filter((task) => task.done).length;
  const optional = spec.all.filter((task) => task.optional).length;
  const counts = [
    plural(spec.all.length, 'task'),
    `${done} done`,
    ...(optional > 0 ? [`${optional} optional`] : []),
    `${plural(units.length, 'unit')}, ${units.filter((unit) => !unit.done).length} to do`,
  ];
  const rows = units.map((unit, index) => [
    String(index + 1),
    unit.done ? look.green('✓') : '○',
    unit.id,
    oneLine(unit.title, 60),
    unit.done ? 'done' : `${unit.open.length} of ${unit.work.length}`,
    unit.after.join(', '),
    unit.wave === null ? '' : String(unit.wave),
  ]);
  return [
    `${look.bold(spec.name)} (${spec.kind}): ${counts.join(', ')}`,
    look.dim(shortPath(spec.files.tasks, cwd)),
    '',
    ...spec.tasks.flatMap((task) => taskLines(task, look)),
    ...(rows.length === 0
      ? []
      : ['', table(['', '', 'unit', 'title', 'to do', 'after', 'wave'], rows, look)]),
  ].join('\n');
}

function taskLines(root: SpecTask, look: Style): string[] {
  const lines: string[] = [];
  const left: [SpecTask, number][] = [[root, 0]];
  for (let next = left.pop(); next; next = left.pop()) {
    const [task, depth] = next;
    lines.push(`${'  '.repeat(depth)}${taskLine(task, look)}`);
    for (const child of [...task.children].reverse()) left.push([child, depth + 1]);
  }
  return lines;
}

const SIGNS = { open: '○', queued: '○', started: '◐', done: '○' } as const;

function taskLine(task: SpecTask, look: Style): string {
  const about = [
    ...(task.optional ? ['optional'] : []),
    ...(task.dependsOn.length > 0 ? [`after ${task.dependsOn.map(({ id }) => id).join(', ')}`] : []),
    ...(task.requirements.length > 0
      ? [`requirements ${task.requirements.map(({ id }) => id).join(', ')}`]
      : []),
  ];
  const sign = task.done ? look.green('✓') : SIGNS[task.mark];
  const end = about.length === 0 ? '' : look.dim(`  (${oneLine(about.join('; '), 80)})`);
  return `${sign} ${look.cyan(task.id)}  ${oneLine(task.title, 80)}${end}`;
}

/** `file:line:column: error: text`, with the hint below it. */
export function specProblemText(problem: SpecProblem, { look, cwd }: Near): string {
  const { file, line, column, severity, message, hint } = problem;
  const word = severity === 'error' ? look.red('error') : look.yellow('warning');
  const first = `${shortPath(file, cwd)}:${line}:${column}: ${word}: ${message}`;
  return hint ? `${first}\n    ${hint}` : first;
}

function shortPath(path: string, cwd: string): string {
  const short = relative(cwd, path);
  return short === '' || short.startsWith('..') ? path : short;
}
