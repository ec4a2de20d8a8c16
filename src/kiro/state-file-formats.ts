import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';
import { InputError, messageOf } from '../model/errors.ts';
import { cleanLine } from '../model/text/clean-escape-quote-plural.ts';
import { asObject } from '../model/text/values-of-unknown-type.ts';

/** The format version of SEQUENTIAL_STATE.json; newer files are refused. */
const STATE_VERSION = 1;

/** The owner of a unit. `by` says who decided; an entry without it was written by a person. */
export const Assignment = z.looseObject({
  type: z.enum(['code', 'ui', 'review']),
  owner_agent: z.string().min(1).max(100),
  criticality: z.enum(['standard', 'complex', 'security-sensitive']).default('standard'),
  by: z.enum(['agent', 'person', 'fallback']).default('person'),
  reason: z.string().optional(),
  /** The hash of the unit's text when an agent decided. */
  of: z.string().optional(),
});
export type Assignment = z.infer<typeof Assignment>;

/** The part of one spec in the state file. */
export const SpecState = z.looseObject({
  /** The spec directory. */
  spec: z.string(),
  plan: z.string().nullable().default(null),
  completed: z.array(z.string()),
  failed: z.array(z.string()).default([]),
  halted: z.boolean(),
  halted_at: z.string().nullable().default(null),
  halted_task: z.string().nullable().default(null),
  halt_reason: z.string().nullable().default(null),
  started_at: z.string().nullable(),
  completed_at: z.string().nullable().default(null),
  updated_at: z.string(),
  assignments: z.record(z.string(), Assignment),
});
export type SpecState = z.infer<typeof SpecState>;

interface ReadAssignments {
  assignments: Map<string, Assignment>;
  /** Entries that cannot be used, with the reason. */
  problems: { id: string; message: string }[];
  /** The file has the old format, which does not name the spec of the assignments. */
  unnamed: boolean;
}

/** The file's text. Something that is not a file is refused like a file that cannot be read. */
export function readStateText(file: string): string {
  if (statSync(file).isFile()) return readFileSync(file, 'utf8');
  throw new InputError('spec/state', `${file} is not a file.`, {
    hint: 'Move it away: the run writes its state there.',
    details: { file },
  });
}

/** The assignments of one spec. Nothing else is read back from the file. */
export function readAssignments(text: string, name: string, file = 'SEQUENTIAL_STATE.json'): ReadAssignments {
  const data = parse(text, file);
  const unnamed = data.specs === undefined && asObject(data.assignments) !== undefined;
  const own = unnamed ? data : asObject(asObject(data.specs)?.[name]);
  const result: ReadAssignments = { assignments: new Map(), problems: [], unnamed };
  for (const [id, value] of Object.entries(asObject(own?.assignments) ?? {})) {
    const parsed = Assignment.safeParse(value);
    if (parsed.success) result.assignments.set(id, parsed.data);
    else {
      const issue = parsed.error.issues[0];
      const where = issue?.path.length ? `${issue.path.join('.')}: ` : '';
      result.problems.push({ id, message: `${where}${issue?.message ?? 'cannot be used'}` });
    }
  }
  return result;
}

/** The file with this spec's part replaced. Other specs, and what a person added, stay as they are. */
export function withSpecState(text: string | null, name: string, state: SpecState): string {
  const data = text === null || text.trim() === '' ? {} : parse(text, 'SEQUENTIAL_STATE.json');
  const { version: _version, specs, ...rest } = data;
  const legacy = specs === undefined && Object.keys(rest).length > 0;
  const parts = {
    version: STATE_VERSION,
    specs: { ...asObject(specs), [name]: SpecState.parse(state) },
    ...(legacy ? { before: rest } : rest),
  };
  return `${JSON.stringify(parts, null, 2)}\n`;
}

function parse(text: string, file: string): Record<string, unknown> {
  const refuse = (why: string) =>
    new InputError('spec/state', `${file} ${why}.`, {
      hint: 'Move it away: it only shows what the run knows, and is written again. Assignments made by hand are in it.',
      details: { file },
    });
  let data: Record<string, unknown> | undefined;
  try {
    data = asObject(JSON.parse(text.replace(/^\ufeff/, '')));
  } catch (error) {
    throw refuse(`is not valid JSON (${messageOf(error)})`);
  }
  if (!data) throw refuse('does not hold an object');
  if (typeof data.version === 'number' && data.version > STATE_VERSION)
    throw refuse(
      `was written by a newer Signalbox (version ${data.version}; this one reads up to ${STATE_VERSION})`,
    );
  return data;
}

export interface ProgressEntry {
  iteration: number;
  id: string;
  title: string;
  status: 'Completed' | 'Halted' | 'Failed' | 'Running' | 'Waiting';
  /** ISO time of its end, or of its beginning while it runs. */
  at: string;
  message: string;
}

export interface Progress {
  spec: string;
  /** Where the spec is. */
  path: string;
  startedAt: string;
  entries: readonly ProgressEntry[];
  /** Null while there is work left. */
  completedAt: string | null;
  /** Lines for the end: counts, changes, cost, time. */
  summary: readonly string[];
}

/** One spec's part of SEQUENTIAL_PROGRESS.md, rendered as a whole each time. */
export function renderProgress(progress: Progress): string {
  const entries = progress.entries.map(({ iteration, id, title, status, at, message }) =>
    [
      `## Iteration ${iteration}`,
      '',
      `- **Task:** ${id} - ${cleanLine(title)}`,
      `- **Status:** ${status}`,
      `- **Time:** ${at}`,
      ...(message === '' ? [] : [`- **Message:** ${cleanLine(message, 500)}`]),
    ].join('\n'),
  );
  const end = [
    ...(progress.completedAt === null ? [] : [`**Completed:** ${progress.completedAt}`]),
    ...progress.summary.map((line) => `- ${cleanLine(line, 500)}`),
  ];
  return [
    `# Progress of ${cleanLine(progress.spec)}`,
    `**Spec:** ${cleanLine(progress.path, 1_000)}\n**Started:** ${progress.startedAt}`,
    '---',
    ...entries,
    ...(end.length === 0 ? [] : ['---', end.join('\n')]),
  ].join('\n\n');
}

/** The file with one spec's part replaced, or added at the end. The parts of others stay as they are. */
export function withProgress(text: string | null, name: string, part: string): string {
  const [begin, end] = [`<!-- spec: ${label(name)} -->`, `<!-- end of spec: ${label(name)} -->`];
  const block = `${begin}\n${part.replaceAll('<!--', '<!- -')}\n${end}\n`;
  const old = text ?? '';
  const from = old.indexOf(begin);
  const to = from < 0 ? -1 : old.indexOf(end, from);
  if (from < 0) return old.trim() === '' ? block : `${old.trimEnd()}\n\n${block}`;
  if (to < 0) return `${old.slice(0, from)}${block}`;
  return `${old.slice(0, from)}${block}${old.slice(to + end.length).replace(/^\n/, '')}`;
}

function label(name: string): string {
  return cleanLine(name).replaceAll('--', '- -');
}
