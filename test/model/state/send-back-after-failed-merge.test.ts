import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  edgeBackToWork,
  MAX_RETURNS,
  sendBack,
} from '../../../src/model/state/send-back-after-failed-merge.ts';
import { Ticket } from '../../../src/model/ticket-schema.ts';
import { Workflow } from '../../../src/model/workflow.ts';

const NOW = '2026-02-01T00:00:00.000Z';
const FINDINGS = { message: 'npm test failed', output: 'the log' };
const DIR = join(import.meta.dirname, '../../../workflows');

function shipped(name: string): Workflow {
  return Workflow.parse(parse(readFileSync(join(DIR, `${name}.yaml`), 'utf8')));
}

function walked(workflow: Workflow, phases: string[], more: Record<string, unknown> = {}): Ticket {
  const entry = { status: 'success', startedAt: NOW, completedAt: NOW, outcome: 'success' };
  return Ticket.parse({
    planId: 'p',
    ticketId: 't',
    title: 'T',
    status: 'complete',
    workflow: workflow.name,
    currentPhase: 'complete',
    phaseHistory: phases.map((phase) => ({ ...entry, phase })),
    visits: Object.fromEntries(phases.map((phase) => [phase, 1])),
    ...more,
  });
}

describe('the way back', () => {
  const rows: [workflow: string, phases: string[], from: string | null, to: string | null][] = [
    [
      'local',
      ['setup', 'implement', 'checks', 'self_review', 'integrate', 'cleanup'],
      'integrate',
      'implement',
    ],
    ['issue', ['spec', 'exec', 'checks', 'qa', 'pull_request', 'qa_gate', 'integrate'], 'integrate', 'exec'],
    ['issue', ['spec', 'exec', 'checks'], 'checks', 'exec'],
    ['minimal', ['implement'], null, null],
    ['spec-task', ['assign', 'implement', 'checks', 'tick'], 'checks', 'implement'],
  ];
  it.each(rows)('of %s after %j is the edge of %s to %s', (name, phases, from, to) => {
    const workflow = shipped(name);
    const way = edgeBackToWork(workflow, walked(workflow, phases));
    expect(way?.from ?? null).toBe(from);
    expect(way?.to ?? null).toBe(to);
  });

  it('never leads to a phase that the run leaves out, or to one that only reads', () => {
    const workflow = shipped('issue');
    const phases = ['spec', 'exec', 'checks', 'qa'];
    expect(edgeBackToWork(workflow, walked(workflow, phases, { skipPhases: ['exec'] }))).toBeUndefined();
    for (const file of readdirSync(DIR)) {
      const each = shipped(file.replace('.yaml', ''));
      const way = edgeBackToWork(
        each,
        walked(
          each,
          each.phases.map(({ id }) => id),
        ),
      );
      const target = each.phases.find(({ id }) => id === way?.to);
      if (way) expect(target).toMatchObject({ type: 'agent', access: 'write' });
    }
  });
});

describe('sending back', () => {
  const workflow = shipped('local');
  const ticket = walked(workflow, ['setup', 'implement', 'checks', 'self_review', 'integrate', 'cleanup'], {
    visits: { implement: 4 },
  });

  it('starts the agent’s phase anew, with the findings as the entry before', () => {
    const back = sendBack(workflow, ticket, FINDINGS, NOW);
    expect(back).toMatchObject({ status: 'ready', currentPhase: 'implement', visits: { implement: 1 } });
    expect(back.phaseHistory.at(-1)).toMatchObject({
      phase: 'integrate',
      status: 'failure',
      outcome: 'failure',
      output: 'the log',
      error: { class: 'merge', message: 'npm test failed' },
    });
  });

  it('asks a person when it happens again and again', () => {
    let back = ticket;
    for (let times = 0; times < MAX_RETURNS; times++) {
      back = sendBack(workflow, { ...back, status: 'complete' }, FINDINGS, NOW);
      expect(back.status).toBe('ready');
    }
    back = sendBack(workflow, { ...back, status: 'complete' }, FINDINGS, NOW);
    expect(back).toMatchObject({ status: 'needs_attention', error: 'merge: npm test failed' });
  });

  it('leaves alone what is not complete', () => {
    const running = { ...ticket, status: 'running' as const };
    expect(sendBack(workflow, running, FINDINGS, NOW)).toBe(running);
  });
});
