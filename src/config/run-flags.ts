import { RUN_ONLY, RUN_ROWS, type RunOnlyRow } from './run-settings-table.ts';
import { flagOf, type Key, ROWS } from './settings-table.ts';
import { isScalar, type Kind, type Row } from './value-kinds.ts';

/** Settings of runs, in the table's order. */
export const RUN_SETTINGS = ROWS.filter(({ key }) => Object.hasOwn(RUN_ROWS, key));

/** `run.defaultBase` → `base`, `run.rotation.maxFiles` → `rotation.maxFiles`. */
export function optionOf(row: Row & { key: Key }): string {
  return row.option ?? row.key.slice('run.'.length);
}

export function flagOfOption(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

interface RunFlag {
  /** As commander takes it: `-c, --concurrency <n>`. */
  flags: string;
  option: string;
  about: string;
  /** Repeats the default: accepted, but not shown in the help. */
  hidden: boolean;
  /** May be given several times; the values make a list. */
  repeat: boolean;
}

/**
 * The flags of a run. Those that switch come in pairs, because a switch that is only known as `--no-x` would be on
 * without being given, and what was not given must not hide settings and variables.
 */
export function runFlags(): RunFlag[] {
  const settings = RUN_SETTINGS.filter((row) => row.flag !== null && isScalar(row.kind)).flatMap((row) => {
    const flag = flagOf(row);
    const about = row.help ?? row.about.replace(/^./, (first) => first.toLowerCase()).replace(/\.$/, '');
    const one = { option: optionOf(row), about, repeat: false };
    if (row.kind.is !== 'boolean') return [{ ...one, flags: spelled(row, flag, 'name'), hidden: false }];
    return [
      { ...one, flags: flag, hidden: row.default === true },
      { ...one, flags: flag.replace('--', '--no-'), hidden: row.default === false },
    ];
  });
  const only = Object.entries<RunOnlyRow>(RUN_ONLY).map(([option, row]) => ({
    flags: spelled(row, flagOfOption(option), 'list'),
    option,
    about: row.about,
    hidden: false,
    repeat: row.kind.is === 'list',
  }));
  return [...settings, ...only];
}

function spelled(row: { kind: Kind; letter?: string; value?: string }, flag: string, text: string): string {
  const value = row.kind.is === 'boolean' ? '' : ` <${row.value ?? placeholder(row.kind) ?? text}>`;
  return `${row.letter ? `-${row.letter}, ` : ''}${flag}${value}`;
}

function placeholder(kind: Kind): string | undefined {
  if (kind.is === 'maybe') return placeholder(kind.of);
  if (kind.is === 'whole') return kind.unit ?? 'n';
  return { project: 'path', ref: 'branch', list: 'issues' }[kind.is as string];
}
