import { actionOf, edgesOf, type Phase, type Workflow } from '../model/workflow.ts';
import { outcomesOf, reachability } from './check/check-edges.ts';

/** Where an edge leads; `end` says that the ticket is over there. */
interface Way {
  outcome: string;
  target: string;
  end: 'complete' | 'failed' | null;
  /** Leads back to a phase that leads here again. */
  loop: boolean;
}

type Paint = Record<'bold' | 'dim' | 'red' | 'green' | 'yellow', (text: string) => string>;

const WIDTH = { id: 28, kind: 11, outcome: 18, target: 28 };

/** A drawing for a terminal, at most 100 columns wide: one line for each edge. */
export function drawing(workflow: Workflow, paint: Paint): string[] {
  const ways = waysOf(workflow);
  const idWidth = widest(
    workflow.phases.map((phase) => phase.id),
    WIDTH.id,
  );
  const kindWidth = widest(workflow.phases.map(kindOf), WIDTH.kind);
  const outcomeWidth = widest(
    [...ways.values()].flat().map((way) => way.outcome),
    WIDTH.outcome,
  );
  return workflow.phases.flatMap((phase, index) => {
    const head = `${index === 0 ? '▶' : ' '} ${paint.bold(column(phase.id, idWidth))}  ${paint.dim(column(kindOf(phase), kindWidth))}  `;
    const margin = ' '.repeat(2 + idWidth + 2 + kindWidth + 2);
    const tails =
      phase.type === 'terminal'
        ? [paint[phase.notify ? 'yellow' : 'green'](endOf(phase))]
        : edgeLines(ways.get(phase.id) ?? []);
    return tails.map((tail, row) => `${row === 0 ? head : margin}${tail}`.trimEnd());
  });

  function edgeLines(edges: Way[]): string[] {
    return edges.map(({ outcome, target, end, loop }) => {
      const arrow = paint.dim(`─ ${column(outcome, outcomeWidth)} →`);
      const to = column(target, WIDTH.target).trimEnd();
      return `${arrow} ${end ? paint[end === 'failed' ? 'red' : 'green'](to) : to}${loop ? paint.yellow(' ↺') : ''}`;
    });
  }
}

/** The same as a Mermaid flowchart. Node names are numbers: a phase may be called `end`, which is a keyword of Mermaid. */
export function mermaid(workflow: Workflow): string[] {
  const ways = waysOf(workflow);
  const names = new Map(workflow.phases.map((phase, index) => [phase.id, `p${index}`]));
  const all = [...ways.values()].flat();
  const nodes = workflow.phases.map((phase) => `  ${names.get(phase.id)}${shape(phase)}`);
  for (const end of ['complete', 'failed'] as const) {
    if (all.some((way) => way.end === end)) nodes.push(`  ${end}((${end}))`);
  }
  const edges = workflow.phases.flatMap((phase) =>
    (ways.get(phase.id) ?? []).map(({ outcome, target, end }) => {
      const arrow = outcome === 'failure' || outcome === 'timeout' ? '-.->' : '-->';
      return `  ${names.get(phase.id)} ${arrow}|${label(outcome)}| ${end ?? names.get(target) ?? 'failed'}`;
    }),
  );
  return ['flowchart TD', ...nodes, ...edges];
}

function waysOf(workflow: Workflow): Map<string, Way[]> {
  const reach = reachability(workflow);
  const order = new Map(workflow.phases.map((phase, index) => [phase.id, index]));
  const of = (phase: Phase): Way[] => {
    if (phase.type === 'terminal') return [];
    const edges = edgesOf(phase);
    const possible = outcomesOf(phase);
    const outcomes = new Set([
      'success',
      ...Object.keys(edges).filter((name) => name !== 'failure'),
      'failure',
    ]);
    return [...outcomes]
      .filter((outcome) => edges[outcome] !== undefined || possible.includes(outcome))
      .map((outcome) => {
        const target = edges[outcome];
        const end = outcome === 'success' ? 'complete' : 'failed';
        if (target === undefined) return { outcome, target: `(${end})`, end, loop: false };
        const back = (order.get(target) ?? Number.POSITIVE_INFINITY) <= (order.get(phase.id) ?? 0);
        return { outcome, target, end: null, loop: back && reach.get(target)?.has(phase.id) === true };
      });
  };
  return new Map(workflow.phases.map((phase) => [phase.id, of(phase)]));
}

function kindOf(phase: Phase): string {
  const most = phase.type === 'terminal' ? undefined : phase.maxVisits;
  return most === undefined ? phase.type : `${phase.type} ≤${most}`;
}

/** The action of a node, where its id does not name it. */
function stepOf(phase: Phase): string {
  const action = actionOf(phase);
  return action === undefined || action === phase.id ? '' : `<br/>${action}`;
}

function endOf(phase: Extract<Phase, { type: 'terminal' }>): string {
  return phase.notify ? '■ needs attention' : '■ complete';
}

function shape(phase: Phase): string {
  const text = label(
    `${phase.id}<br/>${phase.type === 'terminal' ? endOf(phase).slice(2) : `${kindOf(phase)}${stepOf(phase)}`}`,
  );
  switch (phase.type) {
    case 'agent':
      return `([${text}])`;
    case 'script':
    case 'action':
      return `[${text}]`;
    case 'poll':
      return `[/${text}/]`;
    case 'gate':
      return `{${text}}`;
    case 'terminal':
      return `((${text}))`;
  }
}

function label(text: string): string {
  return `"${text.replaceAll('"', '#quot;')}"`;
}

function widest(texts: readonly string[], most: number): number {
  return Math.min(most, Math.max(0, ...texts.map((text) => text.length)));
}

function column(text: string, width: number): string {
  return (text.length > width ? `${text.slice(0, width - 1)}…` : text).padEnd(width);
}
