import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A home with the stub as its agent and a workflow of `phases` agent phases, each of which must leave a commit. The engine's
 * timer helps as little as possible unless `pollInterval` says otherwise.
 */
export function writeHome(
  place,
  { phases = 1, concurrency, stub, state: under = 'state', workflow = 'bench', pollInterval = 60 },
) {
  const state = join(place.dir, under);
  const workflows = join(place.dir, 'workflows');
  mkdirSync(workflows, { recursive: true });
  const config = join(place.dir, 'config.yaml');
  writeFileSync(
    config,
    [
      'defaultAgent: stub',
      `defaultWorkflow: ${workflow}`,
      `agents: {stub: {adapter: custom, command: ${JSON.stringify(stub)}, envAllow: ['BENCH_*', 'GIT_*']}}`,
      `pollInterval: ${pollInterval}`,
      `maxConcurrency: ${concurrency}`,
      `stateDir: ${JSON.stringify(state)}`,
      `workflowDir: ${JSON.stringify(workflows)}`,
      '',
    ].join('\n'),
  );
  writeFileSync(join(workflows, 'bench.yaml'), workflowOf(phases));
  return { ...place, config, state };
}

function workflowOf(count) {
  const phases = Array.from({ length: count }, (_, index) => {
    const next = index + 1 < count ? `p${index + 2}` : 'complete';
    const head = `  - id: p${index + 1}\n    type: agent\n    prompt: "Do {{ title }}."\n`;
    return `${head}    expect: {commits: ${index + 1}}\n    onSuccess: ${next}\n`;
  });
  return `name: bench\nphases:\n${phases.join('')}  - id: complete\n    type: terminal\n`;
}

export const ticketIds = (count) => Array.from({ length: count }, (_, index) => `t${index + 1}`);

/** Writes a plan as a planner does: everything in a directory of its own, which then gets its name. */
export function writePlan(
  home,
  {
    id = 'bench',
    count,
    idOf = (index) => `t${index + 1}`,
    blockedBy = () => [],
    extra = () => ({}),
    status = 'active',
    more = {},
  },
) {
  const plans = join(home.state, 'plans');
  const draft = join(home.dir, `draft-${id}`);
  mkdirSync(join(draft, 'tickets'), { recursive: true });
  const tickets = Array.from({ length: count }, (_, index) => ({
    ticketId: idOf(index),
    order: index,
    blockedBy: blockedBy(index),
  }));
  const plan = { id, name: id, createdBy: 'bench', repo: home.repo, status, tickets, ...more };
  writeFileSync(join(draft, 'plan.json'), JSON.stringify(plan));
  for (const [index, { ticketId }] of tickets.entries()) {
    const text = { title: `Ticket ${ticketId}`, description: 'One file.' };
    const ticket = { planId: id, ticketId, ...text, ...extra(index) };
    writeFileSync(join(draft, 'tickets', `${ticketId}.json`), JSON.stringify(ticket));
  }
  mkdirSync(plans, { recursive: true });
  renameSync(draft, join(plans, id));
}

export function readTicket(home, ticketId, planId = 'bench') {
  return JSON.parse(readFileSync(join(home.state, 'plans', planId, 'tickets', `${ticketId}.json`), 'utf8'));
}
