import { accessSync, constants } from 'node:fs';
import { type Finding, type Path, type Problem, placed } from '../../config/parse-yaml-and-place-problems.ts';
import { InputError, orError } from '../../model/errors.ts';
import { didYouMean } from '../../model/text/nearest-word.ts';
import { composeCommand } from '../../model/text/quote-values-for-shell.ts';
import { capturesOf, commandOf, type Phase, type Workflow } from '../../model/workflow.ts';
import {
  findScript,
  findScriptInsteadOfAction,
  namesIn,
  readPrompt,
} from '../find-workflows-prompts-scripts.ts';
import type { LoadedWorkflow } from '../load-and-list-workflows.ts';
import { TEMPLATE_VARIABLES } from '../template-variables.ts';
import type {
  TemplateFault,
  TemplatePlace,
  TemplateUse,
} from '../templates/find-template-variables-and-faults.ts';
import { inspectTemplate } from '../templates/find-template-variables-and-faults.ts';
import { isTemplate, type TemplateKind } from '../templates/render-template.ts';
import { reachability } from './check-edges.ts';

export interface ContentDirs {
  prompts: readonly string[];
  scripts: readonly string[];
}

/** A template of a phase and where it is written: in the workflow at `path`, or in a prompt file. */
interface Written {
  text: string;
  kind: TemplateKind;
  path: Path;
  file?: string;
}

/** Files that phases name and templates that they use. */
export async function checkContent(loaded: LoadedWorkflow, dirs: ContentDirs): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const [index, phase] of loaded.phases.entries()) {
    if (!phase) continue;
    const { findings, templates } = await contentOf(phase, index, dirs);
    problems.push(...placed(loaded, findings));
    for (const written of templates) {
      const faults = await templateFaults(written, phase, loaded.workflow, dirs);
      problems.push(...faults.map((fault) => problemAt(loaded, written, fault)));
    }
  }
  return problems;
}

async function contentOf(phase: Phase, index: number, dirs: ContentDirs) {
  const at: Path = ['phases', index];
  const findings: Finding[] = [];
  const templates: Written[] = [];
  const command = commandOf(phase);
  if ('command' in phase && command !== undefined) {
    findings.push(...(await scriptFinding(command, [...at, 'command'], dirs.scripts)));
    for (const [i, text] of (phase.args ?? []).entries())
      templates.push({ text, kind: 'text', path: [...at, 'args', i] });
  }
  const instead = await findScriptInsteadOfAction(phase, dirs.scripts);
  if (instead) findings.push(...(await scriptFinding(instead.name, [...at, 'action'], dirs.scripts)));
  if (phase.type === 'agent' && phase.promptTemplate !== undefined) {
    const path: Path = [...at, 'promptTemplate'];
    const prompt = await named('prompt', phase.promptTemplate, path, dirs.prompts, readPrompt);
    if ('finding' in prompt) findings.push(prompt.finding);
    else templates.push({ text: prompt.found.text, kind: 'text', path, file: prompt.found.path });
  }
  if ('prompt' in phase && phase.prompt !== undefined) {
    templates.push({ text: phase.prompt, kind: 'text', path: [...at, 'prompt'] });
  }
  const captures = Object.entries(('capture' in phase && phase.capture) || {});
  for (const [name, text] of captures) {
    if (text === 'stdout' || /^result(\.|$)/.test(text)) continue;
    templates.push({ text, kind: 'command', path: [...at, 'capture', name] });
  }
  return { findings, templates };
}

/** Variables are checked only in a workflow whose form is right: a phase that is missing may capture them. */
async function templateFaults(
  { text, kind }: Written,
  phase: Phase,
  workflow: Workflow | undefined,
  dirs: ContentDirs,
): Promise<TemplateFault[]> {
  if (!isTemplate(text) && !text.includes('{#')) return [];
  const { faults, uses } = await inspectTemplate(text, kind, (name) => readPrompt(name, dirs.prompts));
  const quoting = kind === 'command' && faults.length === 0 ? quotingFaults(text) : [];
  const unknown = workflow ? unknownUses(uses, workflow, phase, capturesBefore(workflow, phase)) : [];
  return [...faults, ...quoting, ...unknown];
}

/** Captured names that some phase on a way to this one leaves. */
function capturesBefore(workflow: Workflow, phase: Phase): Set<string> {
  const reach = reachability(workflow);
  const before = workflow.phases.filter((other) => reach.get(other.id)?.has(phase.id));
  return new Set(before.flatMap(capturesOf));
}

/** Tries the quoting out; both branches of a condition count, one after the other. */
function quotingFaults(text: string): TemplateFault[] {
  const parts = text.replace(/\{%[\s\S]*?%\}/g, '').split(/\{\{[\s\S]*?\}\}/g);
  try {
    composeCommand(parts.flatMap((part, index) => (index === 0 ? [part] : ['value', part])));
    return [];
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return [{ line: 1, column: 1, message: error.message, hint: error.hint }];
  }
}

function problemAt(loaded: LoadedWorkflow, written: Written, fault: TemplateFault): Problem {
  const file = fault.file ?? written.file;
  if (file !== undefined) return { ...fault, file };
  return { ...fault, ...placeInYaml(loaded, written, fault), file: loaded.file };
}

/** The place in the workflow file of a place in a text written there; the text's start where folding hides it. */
function placeInYaml(loaded: LoadedWorkflow, { text, path }: Written, { line, column }: TemplatePlace) {
  const start = loaded.at(path);
  const lines = loaded.text.split('\n');
  const wanted = text.split('\n')[line - 1] ?? '';
  const block = /^[|>]/.test((lines[start.line - 1] ?? '').slice(start.column - 1));
  const row = block ? start.line + line : start.line + line - 1;
  const from = !block && line === 1 ? start.column - 1 : 0;
  const found = (lines[row - 1] ?? '').indexOf(wanted, from);
  return found < 0 ? start : { line: row, column: found + column };
}

/** What is wrong with the script that a phase names at `path`, if anything. */
async function scriptFinding(name: string, path: Path, dirs: readonly string[]): Promise<Finding[]> {
  const script = await named('script', name, path, dirs, findScript);
  if ('finding' in script) return [script.finding];
  const file = script.found;
  if (isExecutable(file)) return [];
  // Reported here, because a run would retry it again and again.
  return [{ path, message: `The script ${file} is not executable.`, hint: `Run: chmod +x ${file}` }];
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The file that a phase names at `path`, or what is wrong with it. */
async function named<T>(
  kind: 'prompt' | 'script',
  name: string,
  path: Path,
  dirs: readonly string[],
  find: (name: string, dirs: readonly string[]) => Promise<T | undefined>,
): Promise<{ found: T } | { finding: Finding }> {
  const found = await orError(InputError, () => find(name, dirs));
  if (found instanceof InputError) return { finding: { path, message: found.message, hint: found.hint } };
  if (found !== undefined) return { found };
  const message = `There is no ${kind} "${name}".${didYouMean(name, await namesIn(dirs))}`;
  return { finding: { path, message, hint: `Looked in ${dirs.join(' and ') || 'no directory'}.` } };
}

/** Uses of variables that will have no value in a phase. `visible` are the names captured on a way to it. */
function unknownUses(
  uses: readonly TemplateUse[],
  workflow: Workflow,
  phase: Phase,
  visible: ReadonlySet<string>,
): TemplateFault[] {
  const optional = new Set(
    uses.filter((use) => use.optional && use.root === 'context').map((use) => use.field),
  );
  const faults: TemplateFault[] = [];
  for (const use of uses) {
    const fault = faultOf(use, workflow, phase, visible);
    // A ticket may bring context along that no phase captures; then the template must allow for its absence.
    if (!fault || (use.root === 'context' && optional.has(use.field))) continue;
    const { line, column, file } = use;
    faults.push({ ...(file === undefined ? {} : { file }), line, column, ...fault });
  }
  return faults;
}

type Plain = 'list' | 'text' | 'number';

/** The members that the template language itself gives to values that are no objects, and what they are. */
const MEMBERS: Readonly<Record<Plain, Readonly<Record<string, Plain>>>> = {
  list: { size: 'number', first: 'text', last: 'text' },
  text: { size: 'number' },
  number: {},
};

function memberFault(
  { root, field, member }: TemplateUse,
  type: string,
): { message: string; hint?: string } | undefined {
  let kind: Plain = type.startsWith('list') ? 'list' : type === 'number' ? 'number' : 'text';
  let name = root;
  for (const word of [field, member]) {
    if (word === undefined) return undefined;
    const members = MEMBERS[kind];
    const next = memberOf(kind, word);
    if (next === undefined) {
      const message = `"${name}" is a ${kind} and has no "${word}".${didYouMean(word, Object.keys(members))}`;
      const hint = `It has ${Object.keys(members).join(', ')}.`;
      return kind === 'number' ? { message } : { message, hint };
    }
    name = `${name}.${word}`;
    kind = next;
  }
  return undefined;
}

function memberOf(kind: Plain, word: string): Plain | undefined {
  if (kind !== 'number' && /^-?\d+$/.test(word)) return 'text';
  // The library knows JavaScript's word for it, too.
  const name = word === 'length' ? 'size' : word;
  return Object.hasOwn(MEMBERS[kind], name) ? MEMBERS[kind][name] : undefined;
}

function faultOf(
  use: TemplateUse,
  workflow: Workflow,
  phase: Phase,
  visible: ReadonlySet<string>,
): { message: string; hint?: string } | undefined {
  const variable = TEMPLATE_VARIABLES.find(({ name }) => name === use.root);
  if (variable && variable.name !== 'context') {
    if (use.field === undefined) return undefined;
    if (!variable.fields) return memberFault(use, variable.type);
    if (Object.hasOwn(variable.fields, use.field)) return undefined;
    const fields = Object.keys(variable.fields);
    return {
      message: `"${use.root}" has no "${use.field}".${didYouMean(use.field, fields)}`,
      hint: `It has ${fields.join(', ')}.`,
    };
  }
  const name = variable ? use.field : use.root;
  if (name === undefined || visible.has(name)) return undefined;
  const by = workflow.phases
    .filter((other) => capturesOf(other).includes(name))
    .map((other) => `"${other.id}"`);
  if (by.length > 0) {
    return {
      message: `"${name}" is captured by ${by.join(' and ')}, which never comes before "${phase.id}".`,
    };
  }
  if (variable) {
    return {
      message: `No phase captures "${name}".${didYouMean(name, visible)}`,
      hint: `If it comes from tickets, give it a default: {{ context.${name} | default: "" }}.`,
    };
  }
  const known = [...TEMPLATE_VARIABLES.map((known) => known.name), ...visible];
  return {
    message: `Unknown variable "${name}".${didYouMean(name, known)}`,
    hint: 'Variables are those of the ticket, the plan and the phase, and what earlier phases capture; see docs/prompts.md.',
  };
}
