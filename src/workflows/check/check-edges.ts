import type { Finding, Path } from '../../config/parse-yaml-and-place-problems.ts';
import { ACTIONS } from '../../model/actions.ts';
import { didYouMean } from '../../model/text/nearest-word.ts';
import { EXIT_OUTCOMES, edgesOf, type Phase, type Workflow } from '../../model/workflow.ts';

/** Edges of one phase with the place each is written at. */
export function edgePaths(phase: Phase, index: number): { outcome: string; target: string; path: Path }[] {
  if (phase.type === 'terminal') return [];
  const at: Path = ['phases', index];
  const named = Object.entries(phase.on ?? {}).map(([outcome, target]) => ({
    outcome,
    target,
    path: [...at, 'on', outcome],
  }));
  const success = 'onSuccess' in phase ? phase.onSuccess : undefined;
  if (success) named.push({ outcome: 'success', target: success, path: [...at, 'onSuccess'] });
  if (phase.onFailure)
    named.push({ outcome: 'failure', target: phase.onFailure, path: [...at, 'onFailure'] });
  return named;
}

/** Targets that no phase has. Phases whose form is wrong count as targets all the same. */
export function checkTargets(phases: readonly (Phase | undefined)[], ids: readonly string[]): Finding[] {
  return phases.flatMap((phase, index) =>
    (phase ? edgePaths(phase, index) : [])
      .filter(({ target }) => !ids.includes(target))
      .map(({ target, path }) => ({
        path,
        message: `There is no phase "${target}".${didYouMean(target, ids)}`,
        hint: `Phases: ${ids.join(', ')}.`,
      })),
  );
}

/** Problems of the whole graph: phases never reached, loops without end, no way to complete. */
export function checkGraph(workflow: Workflow): Finding[] {
  const reach = reachability(workflow);
  const first = workflow.phases[0]?.id ?? '';
  const reached = new Set([first, ...(reach.get(first) ?? [])]);
  const findings: Finding[] = [];
  for (const [index, phase] of workflow.phases.entries()) {
    if (reached.has(phase.id)) continue;
    const message = `Phase "${phase.id}" cannot be reached from "${first}".`;
    findings.push({ path: ['phases', index, 'id'], message, hint: 'Let an edge lead to it, or delete it.' });
  }
  findings.push(...checkLoops(workflow));
  if (!workflow.phases.some((phase) => reached.has(phase.id) && canEnd(phase))) {
    const hint = 'Add a terminal phase, or leave out onSuccess where the ticket is complete.';
    findings.push({
      path: ['phases'],
      on: 'key',
      message: 'No ticket can complete: every success edge leads on.',
      hint,
    });
  }
  return findings;
}

/** Phase ids that can be reached from each phase over one edge or more. */
export function reachability(workflow: Workflow): Map<string, Set<string>> {
  const edges = new Map(workflow.phases.map((phase) => [phase.id, Object.values(edgesOf(phase))]));
  return new Map(workflow.phases.map((phase) => [phase.id, reachableFrom(phase.id, edges)]));
}

function reachableFrom(start: string, edges: ReadonlyMap<string, readonly string[]>): Set<string> {
  const seen = new Set<string>();
  const open = [...(edges.get(start) ?? [])];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    open.push(...(edges.get(id) ?? []));
  }
  return seen;
}

/** Loops that pass through no phase with maxVisits or maxAttempts; one finding for each group of connected loops. */
function checkLoops(workflow: Workflow): Finding[] {
  const bounded = (phase: Phase) =>
    phase.type === 'terminal' ||
    phase.maxVisits !== undefined ||
    ('maxAttempts' in phase && phase.maxAttempts !== undefined);
  const free = workflow.phases.filter((phase) => !bounded(phase));
  const ids = new Set(free.map((phase) => phase.id));
  const edges = new Map(
    free.map((phase) => [phase.id, Object.values(edgesOf(phase)).filter((id) => ids.has(id))]),
  );
  const named = new Set<string>();
  const findings: Finding[] = [];
  for (const { id } of free) {
    if (named.has(id)) continue;
    const loop = shortestLoop(id, edges);
    if (!loop) continue;
    const within = reachableFrom(id, edges);
    for (const other of within) if (reachableFrom(other, edges).has(id)) named.add(other);
    const last = workflow.phases.findIndex((phase) => phase.id === loop.at(-1));
    const closing = edgePaths(workflow.phases[last] as Phase, last).find(({ target }) => target === id);
    findings.push({
      path: closing?.path ?? ['phases', last],
      message: `Nothing bounds the loop ${[...loop, id].join(' → ')}.`,
      hint: `Say how often one of its phases may be entered, for example "maxVisits: 3" on "${id}".`,
    });
  }
  return findings;
}

/** Phases of the shortest way from a phase back to itself, itself first. */
function shortestLoop(start: string, edges: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const ways: string[][] = [[start]];
  const seen = new Set<string>();
  for (let way = ways.shift(); way; way = ways.shift()) {
    for (const next of edges.get(way.at(-1) ?? '') ?? []) {
      if (next === start) return way;
      if (seen.has(next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  }
  return undefined;
}

/** A terminal, or a phase whose success has no edge and so completes the ticket. */
function canEnd(phase: Phase): boolean {
  if (phase.type === 'terminal') return true;
  // A gate without decisions is a mistake of its own.
  if (phase.type === 'gate') return Object.keys(phase.on).length === 0;
  return edgesOf(phase).success === undefined && outcomesOf(phase).includes('success');
}

/** Outcomes a phase can produce by itself, as far as its fields show. */
export function outcomesOf(phase: Exclude<Phase, { type: 'terminal' }>): string[] {
  if (phase.type === 'gate') return Object.keys(phase.on);
  if (phase.type === 'action') return [...ACTIONS[phase.action].outcomes(phase.with ?? {}), 'timeout'];
  if (phase.type !== 'agent') return EXIT_OUTCOMES;
  const listed = outcomeEnum(phase.output);
  if (listed) return listed;
  const named = Object.keys(edgesOf(phase)).filter(
    (outcome) => outcome !== 'success' && outcome !== 'failure',
  );
  return phase.output && named.length > 0 ? Object.keys(edgesOf(phase)) : ['success', 'failure'];
}

/** Values of `properties.outcome.enum`, or undefined when the schema has none. */
export function outcomeEnum(output: Record<string, unknown> | undefined): string[] | undefined {
  const properties = output?.properties as Record<string, { enum?: unknown } | undefined> | undefined;
  const values = properties?.outcome?.enum;
  return Array.isArray(values) ? values.map(String) : undefined;
}
