import type { Finding } from '../../config/file-problem.ts';
import type { Path } from '../../config/yaml-source.ts';
import { ACTIONS } from '../../model/actions.ts';
import { capital } from '../../model/text/clean.ts';
import { didYouMean, nearest } from '../../model/text/near.ts';
import {
  actionOf,
  EXIT_OUTCOMES,
  edgesOf,
  looksOutside,
  ownOutcomes,
  type Phase,
  type PhaseOf,
  REFUSED,
  resultSchemaOf,
} from '../../model/workflow.ts';
import { article } from '../read-phase.ts';
import { hasField, outputProblem } from '../result-schema/check.ts';
import { isReserved } from '../variables.ts';
import { checkStep } from './action.ts';
import { edgePaths, outcomeEnum } from './edges.ts';
import { checkIdle } from './unused-fields.ts';

const PLAIN_OUTCOMES = ['success', 'failure'];

/** Rules of one phase that its schema cannot express. */
export function checkPhase(phase: Phase, index: number): Finding[] {
  const at: Path = ['phases', index];
  if (phase.type === 'terminal') return [];
  const findings = [...checkTwice(phase, at), ...checkIdle(phase, at)];
  if (phase.type === 'gate') {
    if (Object.keys(phase.on).length === 0) {
      const hint = 'For example "on: {approve: integrate, reject: implement}".';
      findings.push({ path: [...at, 'on'], message: 'A gate needs at least one decision.', hint });
    }
    return [...findings, ...checkLook(phase, at), ...checkStep(phase, at), ...checkFound(phase, at)];
  }
  findings.push(...checkCaptures(phase, at));
  if (phase.type === 'agent')
    return [
      ...findings,
      ...checkPrompt(phase, at),
      ...checkOutput(phase, index),
      ...checkCriteria(phase, at),
    ];
  if (phase.type !== 'script') findings.push(...checkStep(phase, at));
  const action = actionOf(phase);
  if (action !== undefined) {
    const own = ACTIONS[action].outcomes(('with' in phase && phase.with) || {});
    const allowed = [...new Set([...own, ...(phase.type === 'poll' ? EXIT_OUTCOMES : ['timeout'])])];
    return [...findings, ...checkOutcomes(phase, index, allowed, `The action "${action}"`)];
  }
  // The script of a poll may name outcomes of its own; one that is nearly another is a slip of the pen.
  const own = phase.type === 'poll' ? ownOutcomes(phase) : [];
  if (phase.type === 'script') own.push(REFUSED);
  const allowed = [...EXIT_OUTCOMES, ...own.filter((name) => nearest(name, EXIT_OUTCOMES) === undefined)];
  return [...findings, ...checkOutcomes(phase, index, allowed, capital(`${article(phase.type)} phase`))];
}

/** What only a look can find must lead somewhere, and an action can find what its table says. */
function checkFound({ on, found = [], action, with: inputs = {} }: PhaseOf<'gate'>, at: Path): Finding[] {
  const path: Path = [...at, 'found'];
  const own = action && ACTIONS[action].outcomes(inputs);
  return found.flatMap((name) => {
    if (!Object.hasOwn(on, name)) {
      const hint = `Decisions: ${Object.keys(on).join(', ')}.`;
      return [{ path, message: `"${name}" is none of the decisions in "on".`, hint }];
    }
    if (!own || own.includes(name)) return [];
    const message = `The action "${action}" cannot find "${name}".${didYouMean(name, own)}`;
    return [{ path, message, hint: `It finds ${own.join(', ')}.` }];
  });
}

/** How to look says nothing about a gate that never looks. */
function checkLook(phase: PhaseOf<'gate'>, at: Path): Finding[] {
  const keys = ['args', 'intervalSeconds', 'found'] as const;
  const idle = keys.filter(
    (key) =>
      phase[key] !== undefined && (key === 'args' ? phase.command === undefined : !looksOutside(phase)),
  );
  return idle.map((key) => ({
    path: [...at, key],
    on: 'key',
    message: `"${key}" of a gate needs a "command"${key === 'args' ? '' : ' or an "action"'}.`,
    hint: 'Name what looks for an answer, or delete it.',
  }));
}

/** Two ways to say the same thing, both used. */
function checkTwice(phase: Exclude<Phase, PhaseOf<'terminal'>>, at: Path): Finding[] {
  const findings: Finding[] = [];
  if (phase.type !== 'gate' && phase.retry && phase.maxRetries !== undefined) {
    const hint = `Delete "maxRetries", which is short for "retry: {max: ${phase.maxRetries}}".`;
    findings.push({
      path: [...at, 'maxRetries'],
      on: 'key',
      message: '"maxRetries" and "retry" exclude each other.',
      hint,
    });
  }
  const sugar = { onSuccess: 'success', onFailure: 'failure' } as const;
  for (const [key, outcome] of Object.entries(sugar)) {
    if ((phase as Record<string, unknown>)[key] === undefined || phase.on?.[outcome] === undefined) continue;
    const message = `"${key}" and "on.${outcome}" are the same edge.`;
    findings.push({ path: [...at, key], on: 'key', message, hint: 'Delete one of them.' });
  }
  return findings;
}

function checkPrompt(phase: PhaseOf<'agent'>, at: Path): Finding[] {
  if (phase.prompt !== undefined && phase.promptTemplate !== undefined) {
    const message = '"prompt" and "promptTemplate" exclude each other.';
    return [{ path: [...at, 'prompt'], on: 'key', message, hint: 'Delete one of them.' }];
  }
  if (phase.prompt !== undefined || phase.promptTemplate !== undefined) return [];
  const hint = 'Name a file ("promptTemplate: implement.md") or write the text itself ("prompt: …").';
  return [{ path: at, message: `Agent phase "${phase.id}" has no prompt.`, hint }];
}

/** What is to be judged by criteria needs a result that has them. */
function checkCriteria(phase: PhaseOf<'agent'>, at: Path): Finding[] {
  if (!phase.criteria) return [];
  const path: Path = [...at, 'criteria'];
  const schema = resultSchemaOf(phase);
  const missing = ['criterion', 'met', 'evidence'].filter(
    (name) => !schema || !hasCriteriaField(schema, name),
  );
  if (!schema || missing.length > 0) {
    const hint = 'Give "output" a list "criteria" of objects with "criterion", "met" and "evidence".';
    return [{ path, on: 'key', message: `"criteria" needs a result with criteria.`, hint }];
  }
  const outcomes = outcomeEnum(schema) ?? [];
  return phase.criteria.met
    .map((outcome, index) => ({ outcome, path: [...path, 'met', index] }))
    .filter(({ outcome }) => !outcomes.includes(outcome))
    .map(({ outcome, path }) => ({
      path,
      message: `Outcome "${outcome}" is not in the enum of "outcome".${didYouMean(outcome, outcomes)}`,
    }));
}

function hasCriteriaField(schema: Record<string, unknown>, name: string): boolean {
  type Node = { properties?: Record<string, Node>; items?: Node };
  return (schema as Node).properties?.criteria?.items?.properties?.[name] !== undefined;
}

function checkOutput(phase: PhaseOf<'agent'>, index: number): Finding[] {
  const at: Path = ['phases', index];
  const { output } = phase;
  if (!output) {
    const who = 'An agent phase without "output"';
    const hint = 'Add "output" with a property "outcome" to let the agent choose among several ways.';
    if (phase.signals) return checkOutcomes(phase, index, [...PLAIN_OUTCOMES, 'halt'], who);
    return checkOutcomes(phase, index, PLAIN_OUTCOMES, who, hint);
  }
  if (phase.signals) {
    const message = '"signals" and "output" exclude each other.';
    return [{ path: [...at, 'signals'], on: 'key', message, hint: 'Delete one of them.' }];
  }
  const problem = outputProblem(output);
  if (problem) return [{ ...problem, path: [...at, 'output', ...problem.path] }];
  const properties = (output.properties ?? {}) as Record<string, unknown>;
  if (properties.outcome === undefined) return [];
  const path: Path = [...at, 'output', 'properties', 'outcome'];
  const listed = outcomeEnum(output);
  const edges = Object.keys(edgesOf(phase));
  if (!listed) {
    const hint = `Write "enum: [${edges.join(', ')}]", or leave "outcome" out: it is filled in from the edges.`;
    return [{ path, message: '"outcome" must list its values with "enum".', hint }];
  }
  const findings = listed
    .filter((value) => !edges.includes(value) && !PLAIN_OUTCOMES.includes(value))
    .map((value) => ({
      path: [...path, 'enum', listed.indexOf(value)],
      message: `Outcome "${value}" has no edge in "on".`,
      hint: `Edges: ${edges.join(', ') || 'none'}.`,
    }));
  const never = edgePaths(phase, index)
    .filter(({ outcome }) => !listed.includes(outcome) && !PLAIN_OUTCOMES.includes(outcome))
    .map(({ outcome, path }) => ({
      path,
      on: 'key' as const,
      message: `Outcome "${outcome}" is not in the enum of "outcome".${didYouMean(outcome, listed)}`,
    }));
  return [...findings, ...never];
}

function checkOutcomes(
  phase: Phase,
  index: number,
  allowed: string[],
  who: string,
  hint?: string,
): Finding[] {
  return edgePaths(phase, index)
    .filter(({ outcome }) => !allowed.includes(outcome))
    .map(({ outcome, path }) => ({
      path,
      on: 'key',
      message: `${who} cannot end with "${outcome}".${didYouMean(outcome, allowed)}`,
      hint: hint ?? `Its outcomes: ${allowed.join(', ')}.`,
    }));
}

function checkCaptures(phase: Exclude<Phase, PhaseOf<'terminal' | 'gate'>>, at: Path): Finding[] {
  const findings: Finding[] = [];
  for (const [name, from] of Object.entries(phase.capture ?? {})) {
    const path: Path = [...at, 'capture', name];
    if (isReserved(name)) {
      const message = `"${name}" is a template variable of its own, so this capture could never be read.`;
      findings.push({
        path,
        on: 'key',
        message,
        hint: `Call it "${phase.id.replaceAll('-', '_')}_${name}", for example.`,
      });
    }
    const problem = resultProblem(phase, from);
    if (problem) findings.push({ path, ...problem });
  }
  return findings;
}

function resultProblem(
  phase: Exclude<Phase, PhaseOf<'terminal' | 'gate'>>,
  from: string,
): { message: string; hint?: string } | undefined {
  if (!/^result(?:\.|$)/.test(from)) return undefined;
  if (phase.type !== 'agent') {
    return {
      message: `Only an agent phase has a result, not ${article(phase.type)} phase.`,
      hint: 'Use "stdout" or a shell command.',
    };
  }
  const schema = resultSchemaOf(phase);
  if (!schema) return { message: `"${from}" needs "output": without it the agent returns no result.` };
  const field = from.slice('result.'.length);
  if (field === '') return { message: 'Name a field of the result, for example "result.summary".' };
  if (hasField(schema, field)) return undefined;
  const fields = Object.keys((schema.properties ?? {}) as object);
  return {
    message: `The result has no field "${field}".${didYouMean(field, fields)}`,
    hint: `Fields: ${fields.join(', ')}.`,
  };
}
