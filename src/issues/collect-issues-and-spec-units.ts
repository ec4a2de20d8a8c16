import { basename } from 'node:path';
import type { GhOptions } from '../github/gh/run-gh.ts';
import { type Unit, type Units, unitsOf } from '../kiro/group-tasks-into-units.ts';
import { readSpec, type Spec } from '../kiro/read-spec.ts';
import { isWork } from '../kiro/task-and-problem-types.ts';
import { promptParts } from '../kiro/texts-for-unit-prompt.ts';
import { InputError } from '../model/errors.ts';
import { idProblem, slug } from '../model/ids-and-branch-names.ts';
import { cleanLine, cleanText } from '../model/text/clean-escape-quote-plural.ts';
import { fetchItems } from './fetch-work-items.ts';
import { parseReference, type Reference, type SpecReference } from './issue-references.ts';
import { orProblems, problemOf, type SourceProblem, type WorkItem } from './work-item.ts';

interface CollectOptions extends GhOptions {
  /** What files and directories are relative to; `cwd` says which repository a plain number means. */
  filesFrom?: string;
  /** How specs are cut; `parent` by default. */
  unit?: 'parent' | 'leaf';
}

/**
 * Everything that references name, spec directories included, in the order of the references, with notes about parts of
 * specs that were not taken as written.
 */
export async function collectWork(references: readonly string[], options: CollectOptions) {
  const cwd = options.filesFrom ?? options.cwd;
  const parsed = await orProblems(references, String, (text) => parseReference(text, { cwd }));
  const isSpec = (reference: Reference): reference is SpecReference => reference.kind === 'spec';
  const others = parsed.found.filter((reference) => !isSpec(reference));
  const [fetched, specs] = await Promise.all([
    fetchItems(others, options),
    orProblems(
      parsed.found.filter(isSpec),
      ({ text }) => text,
      (reference) => readOne(reference, options.unit ?? 'parent'),
    ),
  ]);
  const all = withSpecs(fetched.items, specs.found);
  return {
    items: all.items,
    problems: [...parsed.problems, ...fetched.problems, ...specs.problems, ...all.problems],
    notes: [...new Set(specs.found.flatMap((spec) => spec.notes))],
  };
}

/** Reads a spec's units. A spec with an error gives none, because its order may be wrong. */
async function readOne({ text, path }: SpecReference, unit: 'parent' | 'leaf') {
  const spec = await readSpec(path);
  const units = unitsOf(spec, { unit });
  const found = [...spec.problems, ...units.problems];
  const error = found.find(({ severity }) => severity === 'error');
  if (error)
    throw new InputError('spec/broken', `${error.file}:${error.line}: ${error.message}`, {
      hint: `See all of them with: signalbox spec check ${text}`,
    });
  const notes = found.map(({ file, line, message }) => `${file}:${line}: ${message}`);
  return { text, dir: spec.dir, items: specItems(spec, units), notes: [...leftOut(spec, units), ...notes] };
}

/** Optional tasks with work of their own that no unit has. */
function leftOut(spec: Spec, { units }: Units): string[] {
  const taken = new Set(units.flatMap(({ work }) => work));
  return spec.all
    .filter((task) => task.optional && !task.done && isWork(task) && !taken.has(task))
    .map(({ id }) => `${id} is optional and left out.`);
}

/** The units of a spec as work items: what is to do, the requirements it names as criteria, and the files it names. */
function specItems(spec: Spec, { units }: Units): WorkItem[] {
  const keyOf = (id: string) => `kiro:${spec.dir}#${id}`;
  const before = inTurn(units);
  return units.map((unit) => ({
    key: keyOf(unit.id),
    id: idProblem(unit.id) === undefined ? unit.id : slug(unit.id, 80),
    number: null,
    title: cleanLine(unit.title) || unit.id,
    body: bodyOf(spec, unit),
    labels: [],
    acceptanceCriteria: criteriaOf(spec, unit),
    url: null,
    state: unit.done ? 'closed' : 'open',
    dependsOn: (before.get(unit.id) ?? []).map(keyOf),
    repository: null,
    ...pathsOf(unit),
    ...(unit.blocked === null ? {} : { blocked: cleanLine(unit.blocked) }),
  }));
}

/**
 * The order of units. A spec is done from top to bottom: stated dependencies are used as they are, waves follow each other, units
 * marked as parallel run beside their neighbours, and any other unit waits for the one before. A done unit blocks no other; the
 * unit behind it still waits for open ones before it.
 */
function inTurn(units: readonly Unit[]): Map<string, string[]> {
  const waits = new Map<string, string[]>();
  let barrier: string[] = [];
  let group: string[] = [];
  let wave: number | null = null;
  for (const unit of units) {
    if (unit.done) {
      waits.set(unit.id, unit.after);
      continue;
    }
    const beside = unit.root.parallel || (unit.wave !== null && unit.wave === wave);
    if (!beside && group.length > 0) [barrier, group] = [group, []];
    waits.set(unit.id, unit.after.length > 0 ? unit.after : barrier);
    if (unit.root.parallel || unit.wave !== null) group.push(unit.id);
    else barrier = [unit.id];
    wave = unit.wave;
  }
  return waits;
}

function bodyOf(spec: Spec, unit: Unit): string {
  const parts = promptParts(spec, unit);
  const section = (title: string, text: string) =>
    text.trim() === '' ? [] : [`## ${title}\n\n${text.trim()}`];
  return cleanText(
    [
      parts.work,
      ...section('Part of', parts.context),
      ...section('Requirements', parts.requirements),
      ...section('Design', parts.design),
      ...section('Verify', parts.verify.map((line) => `- ${line}`).join('\n')),
      `From task ${unit.id} of ${spec.files.tasks}.`,
    ].join('\n\n'),
  );
}

function criteriaOf(spec: Spec, unit: Unit): string[] {
  const ids = unit.work.flatMap((task) => task.requirements.map(({ id }) => id));
  const lines = spec.index
    .named(ids)
    .flatMap(({ criteria }) => criteria.map(({ id, text }) => cleanLine(`${id} ${text}`, 2_000)));
  return [...new Set(lines)].slice(0, 200);
}

/** `_Files: a.ts, b.ts_` and `_File: a.ts_` of its tasks. */
function pathsOf(unit: Unit): { paths?: string[] } {
  const named = unit.work.flatMap(({ fields }) => [...(fields.files ?? []), ...(fields.file ?? [])]);
  const paths = named
    .flatMap((text) => text.split(/[\s,`]+/))
    .filter((path) => /^[\w.*-][\w./*-]*$/.test(path));
  return paths.length > 0 ? { paths: [...new Set(paths)] } : {};
}

/** What one spec gave; `text` is how it was named. */
type SpecWork = Awaited<ReturnType<typeof readOne>>;

/**
 * Makes ids unique. Units of most specs are called 1, 2, 3. If one equals another id, the spec's name is put before all ids of the
 * spec; ids that are still not unique are refused.
 */
function withSpecs(
  fetched: readonly WorkItem[],
  specs: readonly SpecWork[],
): { items: WorkItem[]; problems: SourceProblem[] } {
  const meets = (spec: SpecWork) => {
    const others = [...fetched, ...specs.flatMap((other) => (other.dir === spec.dir ? [] : other.items))];
    return spec.items.some(({ id }) => others.some((other) => other.id === id));
  };
  const taken = new Set(fetched.map(({ id }) => id));
  const items = [...fetched];
  const problems: SourceProblem[] = [];
  for (const spec of specs) {
    const named = meets(spec) ? spec.items.map((item) => ({ ...item, id: longId(spec, item) })) : spec.items;
    for (const item of named) {
      // The same spec may be named twice.
      if (items.some(({ key }) => key === item.key)) continue;
      if (taken.has(item.id)) problems.push(clash(spec, item));
      else items.push(item);
      taken.add(item.id);
    }
  }
  return { items, problems };
}

function longId({ dir }: SpecWork, { id }: WorkItem): string {
  const long = `${slug(basename(dir), 40)}-${id}`;
  return idProblem(long) === undefined ? long : slug(long, 80);
}

function clash({ text }: SpecWork, { id }: WorkItem): SourceProblem {
  const message = `Two of them would be the ticket "${id}", one of which is in ${text}.`;
  const hint = 'Rename the directory of a spec, or make a plan of each.';
  return problemOf(text, new InputError('source/same-id', message, { hint }));
}
