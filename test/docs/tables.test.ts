import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ADAPTERS } from '../../src/agents/adapters-and-agent-problems.ts';
import { ROWS } from '../../src/config/settings-table.ts';
import { ACTION_CRASH_POINTS, CRASH_POINTS } from '../../src/engine/crash-points.ts';
import { LOG_STATUSES } from '../../src/features/issue-runs/logs/read-and-rotate-logs.ts';
import { FORGE_EFFECTS } from '../../src/github/journal-of-changes-on-github.ts';
import { ACCESS } from '../../src/model/agent-and-adapter-types.ts';
import { LEASE_MS, RENEW_MS } from '../../src/model/lease-and-claim-messages.ts';
import { PLAN_STATUSES, Plan, PlanBase, PlanEntry } from '../../src/model/plan-schema.ts';
import { NOT_RETRYABLE } from '../../src/model/state/attempt-end-types-and-waits.ts';
import { ERROR_CLASSES, legalCommands } from '../../src/model/ticket.ts';
import {
  ATTEMPT_STATUSES,
  HOLD_KINDS,
  TICKET_STATUSES,
  Ticket,
  TicketBase,
} from '../../src/model/ticket-schema.ts';
import { Phase } from '../../src/model/workflow.ts';
import { codes, DOCS, doc, firstColumn, ROOT, tables } from './markdown.ts';
import { eventTypes, knownVariables, scenarioWords, source, sourceFiles, variablesIn } from './source.ts';

const PLANS = 'docs/plans.md';
const OPERATIONS = 'docs/operations.md';
const WORKFLOWS = 'docs/workflow-reference.md';
const ARCHITECTURE = 'docs/architecture.md';
const CONFIGURATION = 'docs/configuration.md';
const REHEARSAL = 'docs/rehearsal.md';

const sorted = (list: Iterable<string>) => [...list].sort();

/** Rows of the only table with this head, by the code in their first cell. */
function rowsOf(file: string, first: string): Map<string, string[]> {
  const rows = tables(file, first).flatMap((table) => table.rows);
  return new Map(rows.map((row) => [codes(row[0] ?? '')[0] ?? '', row]));
}

describe('plans and tickets', () => {
  it('has every field of a plan and a ticket', () => {
    const [plan, ticket] = tables(PLANS, 'Field').map(({ rows }) =>
      rows.map(([cell = '']) => codes(cell)[0]),
    );
    const entries = Object.keys(PlanEntry.shape).map((key) => `tickets[].${key}`);
    expect(sorted(plan as string[])).toEqual(sorted([...Object.keys(PlanBase.shape), ...entries]));
    expect(sorted(ticket as string[])).toEqual(sorted(Object.keys(TicketBase.shape)));
  });

  it('has every field that runs add to them', () => {
    const added = [
      ...Plan.options.flatMap(({ shape }) => Object.keys(shape).filter((key) => !(key in PlanBase.shape))),
      ...Ticket.options.flatMap(({ shape }) =>
        Object.keys(shape).filter((key) => !(key in TicketBase.shape)),
      ),
    ];
    expect(sorted(firstColumn(PLANS, 'Run field'))).toEqual(sorted(new Set(added)));
  });

  it('says which fields are required', () => {
    const required = (type: {
      safeParse(value: unknown): { error?: { issues: { path: PropertyKey[] }[] } };
    }) => type.safeParse({}).error?.issues.map(({ path }) => String(path[0])) ?? [];
    const marked = tables(PLANS, 'Field').map(({ rows }) =>
      rows.filter(([, preset]) => preset === 'required').map(([cell = '']) => codes(cell)[0] ?? ''),
    );
    const entry = required(PlanEntry).map((key) => `tickets[].${key}`);
    expect(marked.map(sorted)).toEqual([
      sorted([...required(PlanBase), ...entry]),
      sorted(required(TicketBase)),
    ]);
  });

  it('calls reserved only those fields that nothing reads', () => {
    const reserved = tables(PLANS, 'Field')
      .flatMap(({ rows }) => rows)
      .filter(([, , meaning]) => meaning?.startsWith('Reserved'))
      .map(([cell = '']) => codes(cell)[0]?.replace('tickets[].', '') ?? '');
    for (const field of reserved) {
      const reads = new RegExp(`\\.${field}\\b(?!\\()`);
      expect(
        sourceFiles().filter((file) => !file.startsWith('src/config/') && reads.test(source(file))),
        field,
      ).toEqual([]);
    }
  });

  it('has every status and every hold', () => {
    expect(firstColumn(PLANS, 'Plan status')).toEqual([...PLAN_STATUSES]);
    expect([...rowsOf(PLANS, 'Ticket status').keys()]).toEqual([...TICKET_STATUSES]);
    expect(sorted(firstColumn(PLANS, 'Hold'))).toEqual(sorted(HOLD_KINDS));
    expect(sorted(firstColumn(PLANS, 'Attempt status'))).toEqual(sorted(ATTEMPT_STATUSES));
  });

  it('says truly what a person may do in each status', () => {
    for (const [status, row] of rowsOf(PLANS, 'Ticket status')) {
      const hold = status === 'needs_attention' ? { kind: 'gate', reason: '' } : null;
      const ticket = Ticket.parse({ planId: 'p', ticketId: 't', title: '', status, hold });
      expect(sorted(codes(row[2] ?? '')), status).toEqual(sorted(legalCommands(ticket)));
    }
  });

  it('calls reserved those holds that nothing sets, and no other', () => {
    const reserved = [...rowsOf(PLANS, 'Hold')].filter(([, row]) => row[2]?.startsWith('Reserved'));
    const set = sourceFiles()
      .filter((file) => file !== 'src/model/ticket.ts')
      .flatMap((file) =>
        [...source(file).matchAll(/kind: '(\w+)'|\? '(gate)' : '(poll)'/g)].flatMap((found) =>
          found.slice(1),
        ),
      );
    expect(reserved.map(([kind]) => kind)).toEqual(HOLD_KINDS.filter((kind) => !set.includes(kind)));
  });
});

describe('operations', () => {
  it('has every event', () => {
    expect(sorted(firstColumn(OPERATIONS, 'Event'))).toEqual(sorted(eventTypes()));
  });

  it('has every error class, and whether it is tried again', () => {
    const rows = rowsOf(OPERATIONS, 'Class');
    expect(sorted(rows.keys())).toEqual(sorted(ERROR_CLASSES));
    const never = [...rows].filter(([, row]) => row[2] === 'no').map(([name]) => name);
    expect(sorted(never)).toEqual(sorted(NOT_RETRYABLE));
    const free = [...rows].filter(([, row]) => row[2] === 'consumes nothing').map(([name]) => name);
    expect(sorted(free)).toEqual(['interrupted', 'limit', 'shortage', 'stopped']);
  });

  it('names the files of a job and of the state directory as they are called', () => {
    const layout = `${sourceFiles()
      .filter((file) => /^src\/(store|machine|phases)\//.test(file))
      .map(source)
      .join('')}`;
    const [tree] = doc(OPERATIONS).blocks.filter(({ lang }) => lang === 'text');
    const named = [...(tree?.text ?? '').matchAll(/^\s+([^\s<].*?)(?: {2,}|$)/gm)].flatMap(([, path = '']) =>
      path.split(/[/,]\s*/).filter((part) => /^[a-z.]+$/.test(part)),
    );
    expect(named).toEqual(
      expect.arrayContaining(['command.json', 'exit.json', 'events.jsonl', 'daemon.json']),
    );
    for (const name of named) expect(layout, name).toContain(name.replace('.jsonl', '').replace('.json', ''));
  });
});

describe('workflow reference', () => {
  it('has every phase type and access level', () => {
    const types = Phase.options.map((option) => option.shape.type.value);
    expect(sorted(rowsOf(WORKFLOWS, 'Type').keys())).toEqual(sorted(types));
    expect([...rowsOf(WORKFLOWS, '`access`').keys()]).toEqual([...ACCESS]);
  });

  it('says truly what each adapter can do', () => {
    const rows = rowsOf(WORKFLOWS, 'Adapter');
    expect(sorted(rows.keys())).toEqual(sorted(Object.keys(ADAPTERS)));
    for (const [name, [, resume, schema, ...fields]] of rows) {
      const can = ADAPTERS[name]?.capabilities;
      expect(resume, name).toBe(can?.resume ? 'yes' : 'no');
      expect(schema, name).toBe(can?.schema === 'native' ? 'schema flag' : 'tagged block');
      const said = fields.map((cell) => cell !== 'no');
      expect(said, name).toEqual([can?.model, can?.effort, can?.maxTurns, can?.allowedTools]);
    }
  });

  it('has every variable that scripts and agents get', () => {
    const set = [
      'src/phases/attempt-variables-and-environment.ts',
      'src/agents/directories-and-variables-of-clis.ts',
    ].flatMap((file) => variablesIn(source(file)));
    const marker = /MARKER = '(\w+)'/.exec(source('src/machine/jobs/start-and-read-job.ts'))?.[1] ?? '';
    expect(sorted(firstColumn(WORKFLOWS, 'Variable'))).toEqual(sorted(new Set([...set, marker])));
  });

  it('has every bundled script, prompt and workflow', () => {
    const scripts = [...rowsOf(WORKFLOWS, 'Script').keys()];
    expect(sorted(scripts)).toEqual(sorted(readdirSync(join(ROOT, 'scripts'))));
    expect(sorted(firstColumn('docs/prompts.md', 'File'))).toEqual(
      sorted(readdirSync(join(ROOT, 'prompts'))),
    );
    const section = doc(WORKFLOWS).prose.split('## Bundled workflows')[1] ?? '';
    const named = [...section.matchAll(/^`([\w-]+)`:/gm)].map(([, name]) => `${name}.yaml`);
    expect(sorted(named)).toEqual(sorted(readdirSync(join(ROOT, 'workflows'))));
  });
});

describe('architecture', () => {
  const [, table = ''] = /ROOMS = \[\n(.*?)^\];/ms.exec(source('tools/rooms.mjs')) ?? [];
  const rooms = [...table.matchAll(/\[\s*'(\w+)',/g)].map(([, room = '']) => room);

  it('has every room, from top to bottom', () => {
    const listed = firstColumn(ARCHITECTURE, 'Room').map((path) => path.split('/')[1] ?? '');
    expect(listed).toEqual([...rooms, 'rehearsal']);
  });

  it('is where the contributor’s pages say the order of rooms is', () => {
    for (const page of ['CONTRIBUTING.md', 'AGENTS.md'])
      expect(doc(page).text, page).toContain('`tools/rooms.mjs`');
  });

  it('has every crash point', () => {
    expect(firstColumn(ARCHITECTURE, 'Crash point')).toEqual([...CRASH_POINTS]);
    const named = [...doc(ARCHITECTURE).text.matchAll(/`((?:integrate|sync|tick|action|forge):[a-z-]+)`/g)];
    const forge = FORGE_EFFECTS.flatMap((effect) => [`forge:${effect}-meant`, `forge:${effect}-done`]);
    expect(named.map(([, point]) => point)).toEqual([...ACTION_CRASH_POINTS, ...forge]);
  });

  it('draws every status of tickets and attempts, and no other', () => {
    const drawn = doc(ARCHITECTURE)
      .blocks.filter(({ lang }) => lang === 'mermaid')
      .map(
        ({ text }) =>
          new Set([...text.matchAll(/\b([a-z_]+)\b(?=\s*(?:-->|:|$))/gm)].map(([, name = '']) => name)),
      );
    const [tickets, attempts] = drawn;
    for (const status of TICKET_STATUSES) expect(tickets).toContain(status);
    for (const status of ATTEMPT_STATUSES) expect(attempts).toContain(status);
    const arrows = doc(ARCHITECTURE).blocks.flatMap(({ lang, text }) =>
      lang === 'mermaid'
        ? [...text.matchAll(/^ {4}(\S+) --> ([^\s:]+)/gm)].flatMap(([, from = '', to = '']) => [from, to])
        : [],
    );
    const known: string[] = ['[*]', ...TICKET_STATUSES, ...ATTEMPT_STATUSES];
    expect(arrows.filter((name) => !known.includes(name))).toEqual([]);
  });

  it('tells the lease of a claim', () => {
    expect(doc(ARCHITECTURE).text).toContain(
      `${LEASE_MS / 1000} seconds; heartbeats come every ${RENEW_MS / 1000}`,
    );
    expect(doc(OPERATIONS).text).toContain(`older than ${LEASE_MS / 1000} seconds`);
  });
});

describe('configuration', () => {
  it('names as unused what no other room reads, and nothing else', () => {
    const line = /^Not used yet: .*$/m.exec(doc(CONFIGURATION).prose)?.[0] ?? '';
    const named = codes(line).filter((code) => ROWS.some(({ key }) => key === code));
    const others = sourceFiles().filter((file) => !file.startsWith('src/config/'));
    const read = others.map(source).join('\n');
    // Where content lies is read as the search path that is made of it.
    const last = (key: string) => key.replace(/^(\w+)Dir$/, '$1').replace(/^.*\./, '');
    const unused = ROWS.map(({ key }) => key).filter((key) => !read.includes(last(key)));
    expect(named).toEqual(unused);
  });

  it('names as needing trust what the table marks so', () => {
    const section = doc(CONFIGURATION).prose.split('## Trust')[1]?.split('##')[0] ?? '';
    const [listed = ''] = /\([^)]*`agents`[^)]*\)/.exec(section) ?? [];
    const marked = ROWS.filter((row) => row.runs).map(({ key }) => key);
    expect(sorted(codes(listed))).toEqual(sorted(marked));
  });
});

describe('the rehearsal agent', () => {
  it('has every condition and step', () => {
    expect(sorted(firstColumn(REHEARSAL, '`when`'))).toEqual(
      sorted(scenarioWords([{ when: { nothing: 1 }, do: ['hang'] }])),
    );
    const steps = tables(REHEARSAL, 'Step').flatMap(({ rows }) =>
      rows.map(([cell = '']) => /^`(\w+)/.exec(cell)?.[1] ?? ''),
    );
    expect(sorted(steps)).toEqual(sorted(scenarioWords([{ do: ['nothing'] }])));
  });
});

it('every variable in the docs exists', () => {
  const known = knownVariables();
  const wrong = DOCS.flatMap(({ file, text }) =>
    variablesIn(text)
      .filter((name) => !known.has(name))
      .map((name) => `${file}: ${name}`),
  );
  expect(wrong).toEqual([]);
});

it('has every status of an issue in the log of a run', () => {
  expect(firstColumn('docs/runs.md', 'Status').sort()).toEqual([...LOG_STATUSES].sort());
});
