import type { Finding, Path } from '../../config/parse-yaml-and-place-problems.ts';
import { ACTIONS } from '../../model/actions.ts';
import { capital } from '../../model/text/clean-escape-quote-plural.ts';
import { didYouMean, nearest } from '../../model/text/nearest-word.ts';
import type { Phase, PhaseOf } from '../../model/workflow.ts';
import {
  actionOf,
  EXIT_OUTCOMES,
  edgesOf,
  hasCheck,
  ownOutcomes,
  REFUSED,
  resultSchemaOf,
  retryOf,
} from '../../model/workflow.ts';
import { article } from '../load-and-list-workflows.ts';
import { hasField, outputProblem } from '../result-schema/check-schema.ts';
import { isReserved } from '../template-variables.ts';
import { edgePaths, outcomeEnum } from './check-edges.ts';

type Running = Exclude<Phase, PhaseOf<'terminal'>>;

const PLAIN_OUTCOMES = ['success', 'failure'];

/** Rules of one phase that its schema cannot express. */
export function checkPhase(phase: Phase, index: number): Finding[] {
  if (phase.type === 'terminal') return [];
  const at: Path = ['phases', index];
  const findings = [...checkTwice(phase, at), ...checkIdle(phase, at)];
  if (phase.type !== 'gate') findings.push(...checkCaptures(phase, at));
  if (phase.type !== 'agent' && phase.type !== 'script') findings.push(...checkAction(phase, at));
  if (phase.type === 'gate') return [...findings, ...checkGate(phase, at)];
  if (phase.type === 'agent')
    return [
      ...findings,
      ...checkPrompt(phase, at),
      ...checkOutput(phase, index),
      ...checkCriteria(phase, at),
      ...checkEvidence(phase, at),
    ];
  const action = actionOf(phase);
  if (action !== undefined) {
    const own = ACTIONS[action].outcomes(('with' in phase && phase.with) || {});
    const allowed = [...new Set([...own, ...(phase.type === 'poll' ? EXIT_OUTCOMES : ['timeout'])])];
    return [...findings, ...checkOutcomes(phase, index, allowed, `The action "${action}"`)];
  }
  // The script of a poll may name outcomes of its own; one that is nearly another is a spelling mistake.
  const own = phase.type === 'poll' ? ownOutcomes(phase) : [];
  if (phase.type === 'script') own.push(REFUSED);
  const allowed = [...EXIT_OUTCOMES, ...own.filter((name) => nearest(name, EXIT_OUTCOMES) === undefined)];
  return [...findings, ...checkOutcomes(phase, index, allowed, capital(`${article(phase.type)} phase`))];
}

function atKey(path: Path, message: string, hint?: string): Finding {
  return { path, on: 'key', message, hint };
}

/** Pairs of keys that exclude each other. The first one is reported. */
const EXCLUSIVE = [
  ['maxRetries', 'retry'],
  ['prompt', 'promptTemplate'],
  ['signals', 'output'],
  ['command', 'action'],
] as const;

/** Two ways to say the same thing, both used. */
function checkTwice(phase: Running, at: Path): Finding[] {
  const fields = phase as Record<string, unknown>;
  const hint = 'Delete one of them.';
  const has = (key: string) => fields[key] !== undefined && fields[key] !== false;
  const pairs = EXCLUSIVE.filter(([key, other]) => has(key) && has(other)).map(([key, other]) =>
    atKey(
      [...at, key],
      `"${key}" and "${other}" exclude each other.`,
      key === 'maxRetries' ? `Delete "maxRetries", which is short for "retry: {max: ${fields[key]}}".` : hint,
    ),
  );
  const edges = Object.entries({ onSuccess: 'success', onFailure: 'failure' })
    .filter(([key, outcome]) => has(key) && phase.on?.[outcome] !== undefined)
    .map(([key, outcome]) => atKey([...at, key], `"${key}" and "on.${outcome}" are the same edge.`, hint));
  return [...pairs, ...edges];
}

/** Fields that have the right form and would do nothing. */
function checkIdle(phase: Running, at: Path): Finding[] {
  const findings: Finding[] = [];
  if ('prompt' in phase && phase.prompt?.trim() === '')
    findings.push({
      path: [...at, 'prompt'],
      message: 'The prompt is empty.',
      hint: 'Write what the agent should do.',
    });
  if ('retry' in phase && phase.retry) {
    const { max, delaySeconds } = retryOf(phase);
    if (max === 0 && delaySeconds > 0)
      findings.push(
        atKey(
          [...at, 'retry', 'delaySeconds'],
          '"delaySeconds" does nothing with "max: 0": nothing is repeated.',
        ),
      );
  }
  if (phase.type !== 'gate' && phase.type !== 'poll') return findings;
  // What a person says or a script prints has no white space around it, and is never empty.
  const what = phase.type === 'gate' ? 'decision' : 'outcome';
  const unsayable = Object.keys(phase.on ?? {}).filter(
    (name) => name === '' || name !== name.trim() || name.includes('\n'),
  );
  return [
    ...findings,
    ...unsayable.map((name) =>
      atKey(
        [...at, 'on', name],
        `${JSON.stringify(name)} can be no ${what}.`,
        `Give the ${what} a name without white space around it.`,
      ),
    ),
  ];
}

/** A poll needs a script or an action, and an action only the inputs that it has. */
function checkAction(phase: PhaseOf<'action' | 'poll' | 'gate'>, at: Path): Finding[] {
  const { action, type } = phase;
  const command = type === 'action' ? undefined : phase.command;
  if (action === undefined) {
    const hint = 'Write, for example, "command: deployed.sh" or "action: pull-request-poll".';
    const message = `Poll phase "${phase.id}" names neither a script nor an action.`;
    return [
      ...(type === 'poll' && command === undefined ? [{ path: at, message, hint }] : []),
      ...(phase.with ? [atKey([...at, 'with'], '"with" needs an "action".', 'Delete it.')] : []),
    ];
  }
  if (command !== undefined) return [];
  if (type === 'poll' && phase.args.length > 0)
    return [atKey([...at, 'args'], '"args" and "action" exclude each other.', 'Delete one of them.')];
  const { inputs: known = [] } = ACTIONS[action];
  return Object.keys(phase.with ?? {})
    .filter((input) => !known.some((name) => name === input))
    .map((input) =>
      atKey(
        [...at, 'with', input],
        `The action "${action}" has no input "${input}".`,
        known.length > 0 ? `Its inputs: ${known.join(', ')}.` : 'It has no inputs.',
      ),
    );
}

function checkGate(phase: PhaseOf<'gate'>, at: Path): Finding[] {
  const { on, found = [], action, with: inputs = {} } = phase;
  const findings: Finding[] = [];
  if (Object.keys(on).length === 0) {
    const hint = 'For example "on: {approve: integrate, reject: implement}".';
    findings.push({ path: [...at, 'on'], message: 'A gate needs at least one decision.', hint });
  }
  // How to poll means nothing on a gate that never polls.
  for (const key of ['args', 'intervalSeconds', 'found'] as const) {
    const polls = key === 'args' ? phase.command !== undefined : hasCheck(phase);
    if (phase[key] === undefined || polls) continue;
    const needed = key === 'args' ? '"command"' : '"command" or an "action"';
    findings.push(
      atKey(
        [...at, key],
        `"${key}" of a gate needs a ${needed}.`,
        'Name what checks for an answer, or delete it.',
      ),
    );
  }
  const path: Path = [...at, 'found'];
  const own = action && ACTIONS[action].outcomes(inputs);
  for (const name of found) {
    if (!Object.hasOwn(on, name)) {
      const hint = `Decisions: ${Object.keys(on).join(', ')}.`;
      findings.push({ path, message: `"${name}" is none of the decisions in "on".`, hint });
    } else if (own && !own.includes(name)) {
      const message = `The action "${action}" cannot find "${name}".${didYouMean(name, own)}`;
      findings.push({ path, message, hint: `It finds ${own.join(', ')}.` });
    }
  }
  return findings;
}

function checkPrompt(phase: PhaseOf<'agent'>, at: Path): Finding[] {
  if (phase.prompt !== undefined || phase.promptTemplate !== undefined) return [];
  const hint = 'Name a file ("promptTemplate: implement.md") or write the text itself ("prompt: …").';
  return [{ path: at, message: `Agent phase "${phase.id}" has no prompt.`, hint }];
}

function checkEvidence({ expect, output, repair }: PhaseOf<'agent'>, at: Path): Finding[] {
  const findings: Finding[] = [];
  if (expect && Object.keys(expect).length === 0)
    findings.push({
      path: [...at, 'expect'],
      message: '"expect" names nothing to look for.',
      hint: 'For example "expect: {commits: true, clean: true}"; or delete it.',
    });
  if (expect?.own && expect.commits === undefined)
    findings.push(
      atKey(
        [...at, 'expect', 'own'],
        '"own" says which commits count and needs "commits".',
        'Write "expect: {commits: true, own: true}".',
      ),
    );
  if (repair !== undefined && !output)
    findings.push(
      atKey([...at, 'repair'], '"repair" needs "output": without it there is no result to correct.'),
    );
  return findings;
}

/** What is to be judged by criteria needs a result that has them. */
function checkCriteria(phase: PhaseOf<'agent'>, at: Path): Finding[] {
  if (!phase.criteria) return [];
  const path: Path = [...at, 'criteria'];
  const schema = resultSchemaOf(phase);
  if (!schema || !['criterion', 'met', 'evidence'].every((name) => hasField(schema, `criteria.0.${name}`))) {
    const hint = 'Give "output" a list "criteria" of objects with "criterion", "met" and "evidence".';
    return [atKey(path, '"criteria" needs a result with criteria.', hint)];
  }
  const outcomes = outcomeEnum(schema) ?? [];
  return phase.criteria.met.flatMap((outcome, index) =>
    outcomes.includes(outcome)
      ? []
      : [{ path: [...path, 'met', index], message: notListed(outcome, outcomes) }],
  );
}

function notListed(outcome: string, listed: readonly string[]): string {
  return `Outcome "${outcome}" is not in the enum of "outcome".${didYouMean(outcome, listed)}`;
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
  if (phase.signals) return [];
  const problem = outputProblem(output);
  if (problem) return [{ ...problem, path: [...at, 'output', ...problem.path] }];
  if (!hasField(output, 'outcome')) return [];
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
    .map(({ outcome, path }) => atKey(path, notListed(outcome, listed)));
  return [...findings, ...never];
}

function checkOutcomes(
  phase: Phase,
  index: number,
  allowed: string[],
  who: string,
  hint = `Its outcomes: ${allowed.join(', ')}.`,
): Finding[] {
  return edgePaths(phase, index)
    .filter(({ outcome }) => !allowed.includes(outcome))
    .map(({ outcome, path }) =>
      atKey(path, `${who} cannot end with "${outcome}".${didYouMean(outcome, allowed)}`, hint),
    );
}

function checkCaptures(phase: Exclude<Running, PhaseOf<'gate'>>, at: Path): Finding[] {
  return Object.entries(phase.capture ?? {}).flatMap(([name, from]) => {
    const path: Path = [...at, 'capture', name];
    const problem = resultProblem(phase, from);
    const reserved = `"${name}" is a template variable of its own, so this capture could never be read.`;
    const hint = `Call it "${phase.id.replaceAll('-', '_')}_${name}", for example.`;
    return [
      ...(isReserved(name) ? [atKey(path, reserved, hint)] : []),
      ...(problem ? [{ path, ...problem }] : []),
    ];
  });
}

function resultProblem(
  phase: Exclude<Running, PhaseOf<'gate'>>,
  from: string,
): { message: string; hint?: string } | undefined {
  if (!/^result(?:\.|$)/.test(from)) return undefined;
  if (phase.type !== 'agent')
    return {
      message: `Only an agent phase has a result, not ${article(phase.type)} phase.`,
      hint: 'Use "stdout" or a shell command.',
    };
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
