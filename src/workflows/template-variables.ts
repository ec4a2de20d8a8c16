import type { Plan } from '../model/plan.ts';
import type { Json, Ticket } from '../model/ticket.ts';
import { judgedIn } from '../model/verdict-criteria-and-missing-checks.ts';
import { capturesOf, type Phase, type Workflow } from '../model/workflow.ts';

interface TemplateVariable {
  name: string;
  type: string;
  meaning: string;
  /** Properties of an object; a template may use no others. */
  fields?: Record<string, string>;
}

/** Every variable of prompts, arguments and capture commands. Docs, check and rendering use this list. */
export const TEMPLATE_VARIABLES: readonly TemplateVariable[] = [
  { name: 'planId', type: 'string', meaning: 'Id of the plan' },
  { name: 'ticketId', type: 'string', meaning: 'Id of the ticket' },
  { name: 'title', type: 'string', meaning: 'The ticket in one line' },
  { name: 'description', type: 'string', meaning: 'What is to be done' },
  { name: 'acceptanceCriteria', type: 'list of strings', meaning: 'How one can tell that it is done' },
  { name: 'acceptance_criteria_list', type: 'string', meaning: 'The same as lines that start with "- "' },
  { name: 'linearUrl', type: 'string or null', meaning: 'Link to the tracker, any tracker' },
  { name: 'repo', type: 'string', meaning: 'Path of the git repository' },
  { name: 'branch', type: 'string', meaning: 'Branch of the ticket' },
  { name: 'worktree', type: 'string', meaning: 'Path of the ticket’s worktree' },
  { name: 'agent', type: 'string or null', meaning: 'Agent of this phase' },
  { name: 'workflow', type: 'string', meaning: 'Name of the workflow' },
  { name: 'base', type: 'string or null', meaning: 'Branch that the work started from' },
  { name: 'base_commit', type: 'string or null', meaning: 'Commit that the work started from' },
  {
    name: 'base_failures',
    type: 'string or null',
    meaning: 'What the project’s checks printed on that commit before any work, if they failed',
  },
  {
    name: 'plan',
    type: 'object',
    meaning: 'The plan',
    fields: {
      id: 'Its id',
      name: 'Its name, for people',
      repo: 'Its repository, or null',
      workflow: 'Its workflow, or null',
      base: 'Its base branch, or null',
    },
  },
  {
    name: 'phase',
    type: 'object',
    meaning: 'The phase that is running',
    fields: {
      id: 'Its id',
      type: 'Its type',
      visit: 'How often it was entered, from 1',
      attempt: 'Attempt of this visit, from 1',
    },
  },
  { name: 'visit', type: 'number', meaning: 'Short for phase.visit' },
  { name: 'attempt', type: 'number', meaning: 'Short for phase.attempt' },
  {
    name: 'previous_error',
    type: 'string or null',
    meaning: 'Error of the last failed attempt of this phase, or of the failure that led here',
  },
  {
    name: 'feedback',
    type: 'string or null',
    meaning:
      'What the phase that sent the ticket back here found: review findings, failed checks, a person’s message',
  },
  {
    name: 'unit',
    type: 'object or null',
    meaning: 'The unit that the ticket stands for, in runs of specs',
    fields: {
      id: 'Its id in tasks.md',
      work: 'Its tasks with their details, as a list',
      context: 'Titles and details of the parents of these tasks',
      requirements: 'The text of the requirements that they name',
      design: 'The parts of the design that fit them',
      verify: 'Commands of the spec that verify the unit, one per line',
      files: 'The files of the spec',
      earlier: 'What earlier units reported under `Learned:`',
      owners: 'Names to assign it to',
      others: 'Units that are to be assigned with it, each under its id; empty unless --assign all was given',
      skills: 'The setting specs.skills',
      test_first: 'The setting specs.testFirst',
    },
  },
  {
    name: 'context',
    type: 'object',
    meaning: 'Everything captured so far; each captured name is a variable of its own too',
  },
];

const RESERVED: ReadonlySet<string> = new Set(TEMPLATE_VARIABLES.map((variable) => variable.name));

/** A capture of this name could never be read: the variable wins. */
export function isReserved(name: string): boolean {
  return RESERVED.has(name);
}

export interface TemplateInput {
  ticket: Ticket;
  plan: Plan;
  workflow: Workflow;
  phase: Phase;
  visit: number;
  attempt: number;
  previousError: string | null;
  feedback: string | null;
  /** What the engine decided where ticket and plan leave it open. */
  facts: {
    repo: string;
    branch: string;
    worktree: string;
    agent: string | null;
    base: { ref: string; commit: string } | null;
  };
}

/** The values of all variables. Captures that are declared but not set yet are null, so strict templates accept them. */
export function templateVariables(input: TemplateInput): Record<string, unknown> {
  const { ticket, plan, workflow, phase, visit, attempt, facts } = input;
  const unset = Object.fromEntries(workflow.phases.flatMap(capturesOf).map((name) => [name, null]));
  const context: Record<string, Json> = { ...unset, ...ticket.context };
  const { planId, ticketId, title, description, acceptanceCriteria, linearUrl } = ticket;
  const { base, ...where } = facts;
  return {
    ...context,
    ...{ planId, ticketId, title, description, acceptanceCriteria, linearUrl, ...where },
    acceptance_criteria_list: acceptanceCriteria.map((line) => `- ${line}`).join('\n'),
    workflow: workflow.name,
    base: base?.ref ?? null,
    base_commit: base?.commit ?? null,
    base_failures: null,
    plan: { id: plan.id, name: plan.name, repo: plan.repo, workflow: plan.workflow, base: plan.base },
    phase: { id: phase.id, type: phase.type, visit, attempt },
    visit,
    attempt,
    previous_error: input.previousError,
    feedback: input.feedback,
    unit: null,
    context,
  };
}

/** Puts a result or message that travels back to an earlier phase into words a prompt can quote. */
export function feedbackText(value: Json | undefined): string | null {
  if (value === undefined || value === null || value === '') return null;
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) {
    const lines = value.map(feedbackLine).filter((line) => line !== '');
    return lines.length > 0 ? lines.map((line) => `- ${line}`).join('\n') : null;
  }
  const { outcome: _, message, summary, findings, ...rest } = value;
  const parts = [message, summary, unmet(rest.criteria), findings]
    .map(feedbackText)
    .filter((text) => text !== null);
  if (parts.length > 0) return parts.join('\n\n');
  return Object.keys(rest).length > 0 ? JSON.stringify(rest, null, 2) : null;
}

/** Only criteria that a review calls unmet need work. */
function unmet(criteria: Json | undefined): Json {
  if (!Array.isArray(criteria)) return null;
  const denied = criteria.filter((each) => (each as { met?: Json } | null)?.met === false);
  return judgedIn(denied).map(
    ({ criterion, evidence }) => `Not met: ${criterion}${evidence && ` (${evidence})`}`,
  );
}

function feedbackLine(value: Json): string {
  if (value === null || typeof value !== 'object') return String(value ?? '');
  if (Array.isArray(value)) return JSON.stringify(value);
  const { file, line, ...said } = value;
  const key = ['message', 'problem', 'description', 'text'].find((name) => typeof said[name] === 'string');
  if (key === undefined) return JSON.stringify(value);
  const { [key]: message, ...rest } = said;
  const place =
    typeof file === 'string' ? `${file}${line === undefined || line === null ? '' : `:${line}`}: ` : '';
  const more = Object.keys(rest).length > 0 ? ` ${JSON.stringify(rest)}` : '';
  return `${place}${message}${more}`;
}
