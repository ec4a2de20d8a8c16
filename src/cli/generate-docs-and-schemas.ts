import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { SUPPORT_COLUMNS, supportsOf } from '../agents/adapter-abilities-table.ts';
import { ADAPTERS } from '../agents/adapters-and-agent-problems.ts';
import { ownDirectories } from '../agents/directories-and-variables-of-clis.ts';
import { rangeText } from '../agents/program-versions.ts';
import { settingsDocRows, settingsJsonSchema } from '../config/settings-schema-docs-and-list.ts';
import { ACTION_NAMES, ACTIONS, PULL_WAITS } from '../model/actions.ts';
import { ACCESS } from '../model/agent-and-adapter-types.ts';
import { Plan, PlanBase } from '../model/plan-schema.ts';
import { Ticket, TicketBase } from '../model/ticket-schema.ts';
import { Workflow } from '../model/workflow.ts';
import { openApi } from '../web/openapi.ts';
import { PHASE_SCHEMAS } from '../workflows/load-and-list-workflows.ts';
import { TEMPLATE_VARIABLES } from '../workflows/template-variables.ts';
import { createProgram } from './build-command-parser.ts';
import type { Io } from './io.ts';

/** Writes the files that are not up to date and returns their names; with `check` it writes nothing. */
export function generate(root: string, options: { check: boolean }): string[] {
  const read = (file: string) => (existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : '');
  const schemas = Object.entries(jsonSchemas()).map(([name, schema]) => [
    `schemas/${name}.schema.json`,
    `${JSON.stringify(schema, null, 2)}\n`,
  ]);
  const openapi = ['schemas/web.openapi.json', `${JSON.stringify(openApi(), null, 2)}\n`];
  const documents = Object.entries(docTables()).map(([file, sections]) => [
    file,
    Object.entries(sections).reduce(fill, read(file)),
  ]);
  const stale = [...schemas, openapi, ...documents].filter(([file = '', text]) => read(file) !== text);
  for (const [file = '', text = ''] of options.check ? [] : stale) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  return stale.map(([file = '']) => file);
}

/** Replaces the text between a pair of markers; adds the markers at the end if they are missing. */
function fill(text: string, [name, table]: [string, string]): string {
  const begin = `<!-- generated:${name} -->`;
  const end = '<!-- /generated -->';
  const section = `${begin}\n${table}\n${end}`;
  const from = text.indexOf(begin);
  if (from < 0) return `${text.trimEnd()}\n\n${section}\n`;
  const to = text.indexOf(end, from);
  if (to < 0) throw new Error(`"${begin}" has no "${end}" behind it.`);
  return text.slice(0, from) + section + text.slice(to + end.length);
}

type Schema = Record<string, unknown>;

/** Generated tables, by document and section. */
function docTables(): Record<string, Record<string, string>> {
  return {
    'docs/workflow-reference.md': {
      'workflow-fields': workflowTable(),
      'phase-fields': phaseTable(),
      'nested-fields': nestedTable(),
      actions: actionTable(),
    },
    'docs/prompts.md': { variables: variableTable() },
    'docs/configuration.md': { settings: settingsTable() },
    'docs/commands.md': { commands: commandSections() },
    'docs/agents.md': { programs: programTable(), supports: supportTable(), access: accessTable() },
  };
}

/** Where commands are explained, beyond their flags. */
const EXPLAINED: Readonly<Record<string, string>> = {
  run: '[runs of issues](runs.md), [running a plan](plans.md#running-a-plan)',
  spec: '[specs](specs.md)',
  daemon: '[the daemon](operations.md#the-daemon)',
  resume: '[watching and steering](watching.md#continue)',
  stop: '[watching and steering](watching.md#stop)',
  cancel: '[watching and steering](watching.md#give-up)',
  status: '[watching and steering](watching.md#where-everything-is)',
  logs: '[watching and steering](watching.md#what-agents-do)',
  diff: '[watching and steering](watching.md#what-changed)',
  attach: '[watching and steering](watching.md#what-agents-do)',
  sessions: '[watching and steering](watching.md#take-over-a-session)',
  'resume-session': '[watching and steering](watching.md#take-over-a-session)',
  stats: '[logs, stats and cleaning up](runs.md#logs-stats-and-cleaning-up)',
  report: '[watching and steering](watching.md#the-morning-after)',
  web: '[the page](web.md)',
  respond: '[watching and steering](watching.md#decide)',
  retry: '[watching and steering](watching.md#decide)',
  skip: '[watching and steering](watching.md#decide)',
  pause: '[watching and steering](watching.md#stop)',
  merge: '[the merge train](pull-requests.md#the-merge-train)',
  plan: '[planning](planning.md)',
  interactive: '[planning with an agent](planning.md#with-an-agent)',
  import: '[work items for scripts](planning.md#work-items-for-scripts)',
  workflow: '[workflow reference](workflow-reference.md)',
  config: '[configuration](configuration.md)',
  init: '[configuration](configuration.md)',
  doctor: '[agents](agents.md)',
  skills: '[skills for your own agent](planning.md#skills-for-your-own-agent)',
  notify: '[notifications](operations.md#notifications)',
  clean: '[logs, stats and cleaning up](runs.md#logs-stats-and-cleaning-up)',
  checks: '[checks](configuration.md#checks)',
  integrate: '[merging one ticket](pull-requests.md#merging-one-ticket)',
  forge: '[commands for scripts](pull-requests.md#commands-for-scripts)',
  workspace: '[worktrees](operations.md#worktrees)',
};

/** A section per command, in the groups of the help. */
function commandSections(): string {
  let group = '';
  return createProgram({ argv: ['--all'] } as unknown as Io, '')
    .commands.flatMap((command) => {
      const heading = command.helpGroup().replace(/:$/, '');
      const begins = heading !== group;
      group = heading;
      const explained = EXPLAINED[command.name()];
      return [
        ...(begins ? [`## ${heading}`] : []),
        `### ${command.name()}`,
        ...describeCommand(command),
        ...(explained ? [`More: ${explained}.`] : []),
        ...command.commands.flatMap((sub) => [
          `#### ${command.name()} ${sub.name()}`,
          ...describeCommand(sub),
        ]),
      ];
    })
    .join('\n\n');
}

function describeCommand(command: Command): string[] {
  const [about = '', examples = '', ...notes] = command.description().split('\n\n');
  const words = command.registeredArguments.map((each) => {
    const name = each.variadic ? `${each.name()}...` : each.name();
    return { name: each.required ? `<${name}>` : `[${name}]`, about: each.description };
  });
  const options = command.options.filter(
    ({ hidden, description }) => !hidden && description !== 'print JSON',
  );
  const rows = [
    ...words.filter((word) => word.about).map((word) => [code(word.name), asText(word.about)]),
    ...options.map(({ flags, description, argChoices, defaultValue: preset }) => [
      flags.split(', ').map(code).join(', '),
      [
        asText(description),
        ...(argChoices ? [`one of ${argChoices.map(code).join(', ')}`] : []),
        ...(typeof preset === 'string' ? [`default ${code(preset)}`] : []),
      ].join('; '),
    ]),
  ];
  const [, ...lines] = examples.split('\n').map((line) => line.trim());
  return [
    `${code(['signalbox', ...pathOf(command), ...words.map(({ name }) => name)].join(' '))}: ${asText(about)}.`,
    ['```console', ...lines, '```'].join('\n'),
    ...notes.map(asText),
    ...(rows.length > 0 ? [markdownTable(['Flag', 'Meaning'], rows)] : []),
  ];
}

/** The words of a command, without the program's. */
function pathOf(command: Command): string[] {
  return command.parent ? [...pathOf(command.parent), command.name()] : [];
}

/** Help as Markdown: `<base>` would be read as HTML. */
function asText(help: string): string {
  return help.replaceAll('<', '&lt;');
}

function workflowTable(): string {
  const { workflow } = jsonSchemas();
  return markdownTable(
    ['Field', 'Value', 'Meaning'],
    rowsOf(workflow).map((row) => [code(row.name), row.value, row.meaning]),
  );
}

/** One row per field and meaning, with the phase types that have it; bold where it is required. */
function phaseTable(): string {
  const rows = new Map<string, { types: string[]; cells: [string, string, string] }>();
  for (const [type, schema] of phaseSchemas()) {
    for (const { name, value, meaning, required } of rowsOf(schema)) {
      if (name === 'type') continue;
      const key = JSON.stringify([name, value, meaning]);
      const row = rows.get(key) ?? { types: [], cells: [name, value, meaning] };
      row.types.push(required ? `**${type}**` : type);
      rows.set(key, row);
    }
  }
  const cells = [...rows.values()].map(({ types, cells: [name, value, meaning] }) => [
    code(name),
    types.join(', '),
    value,
    meaning,
  ]);
  return markdownTable(['Field', 'Phases', 'Value', 'Meaning'], cells);
}

function nestedTable(): string {
  const agent = phaseSchemas().find(([type]) => type === 'agent')?.[1];
  const cells = ['retry', 'expect', 'criteria', 'budget'].flatMap((name) => {
    const schema = (agent?.properties as Record<string, Schema> | undefined)?.[name] ?? {};
    return rowsOf(schema).map((row) => [code(`${name}.${row.name}`), row.value, row.meaning]);
  });
  return markdownTable(['Field', 'Value', 'Meaning'], cells);
}

function actionTable(): string {
  const cells = ACTION_NAMES.map((name) => {
    const { does, in: types = ['action'], inputs = [], outcomes } = ACTIONS[name];
    const ends = inputs.includes('for')
      ? PULL_WAITS.map((awaited) => `${code(`for: ${awaited}`)}: ${outcomes({ for: awaited }).join(', ')}`)
      : outcomes({});
    const between = inputs.includes('for') ? '; ' : ', ';
    return [code(name), types.join(', '), inputs.map(code).join(', '), ends.join(between), does];
  });
  return markdownTable(['Action', 'Phases', 'Inputs', 'Outcomes', 'Does'], cells);
}

function variableTable(): string {
  const cells = TEMPLATE_VARIABLES.flatMap(({ name, type, meaning, fields }) => [
    [code(name), type, meaning],
    ...Object.entries(fields ?? {}).map(([field, about]) => [code(`${name}.${field}`), '', about]),
  ]);
  return markdownTable(['Variable', 'Type', 'Meaning'], cells);
}

function settingsTable(): string {
  const cells = settingsDocRows().flatMap((row) => [
    [code(row.key), row.allowed, code(row.default), row.variable ? code(row.variable) : '', row.about],
    ...row.fields.map((field) => [code(field.path), field.allowed, '', '', field.about]),
  ]);
  return markdownTable(['Setting', 'Value', 'Default', 'Variable', 'Meaning'], cells);
}

function phaseSchemas(): [string, Schema][] {
  const phases = (jsonSchemas().workflow.properties as Record<string, Schema>).phases;
  const { oneOf } = (phases?.items ?? { oneOf: [] }) as { oneOf: Schema[] };
  return Object.keys(PHASE_SCHEMAS).map((type) => {
    const found = oneOf.find((schema) => (schema.properties as Record<string, Schema>).type?.const === type);
    return [type, found ?? {}];
  });
}

function rowsOf(schema: Schema): { name: string; value: string; meaning: string; required: boolean }[] {
  const required = (schema.required ?? []) as string[];
  return Object.entries((schema.properties ?? {}) as Record<string, Schema>).map(([name, field]) => ({
    name,
    value: `${describeValue(field)}${field.default === undefined || isEmpty(field.default) ? '' : `, default ${JSON.stringify(field.default)}`}`,
    meaning: String(field.description ?? ''),
    required: required.includes(name),
  }));
}

function describeValue(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.join(', ');
  if (Array.isArray(schema.oneOf)) return 'mapping';
  if (Array.isArray(schema.anyOf))
    return schema.anyOf.map((part) => describeValue(part as Schema)).join(' or ');
  switch (schema.type) {
    case 'string':
      return 'text';
    case 'integer':
      return `whole number${range(schema)}`;
    case 'number':
      return `number${range(schema)}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return `list of ${describeValue((schema.items ?? {}) as Schema)}`;
    case 'object':
      return 'mapping';
    default:
      return 'any';
  }
}

function range(schema: Schema): string {
  const low =
    schema.minimum ??
    (schema.exclusiveMinimum === undefined ? undefined : `above ${schema.exclusiveMinimum}`);
  if (low === undefined) return '';
  if (schema.maximum === undefined) return schema.minimum === undefined ? `, ${low}` : `, at least ${low}`;
  return schema.minimum === undefined
    ? `, ${low}, at most ${schema.maximum}`
    : `, ${low} to ${schema.maximum}`;
}

function isEmpty(value: unknown): boolean {
  return value === '' || (Array.isArray(value) && value.length === 0);
}

function code(text: string): string {
  return text === '' ? '' : `\`${text}\``;
}

function markdownTable(head: string[], rows: string[][]): string {
  const line = (cells: string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

const PROGRAMS = Object.values(ADAPTERS).flatMap(({ name, program }) => (program ? [{ name, program }] : []));

function programTable(): string {
  const cells = PROGRAMS.map(({ name, program }) => {
    const { title, package: from, formerPackage, minimum, tested, login } = program;
    return [
      code(name),
      title,
      formerPackage ? `${code(from)}, formerly ${code(formerPackage)}` : code(from),
      minimum,
      rangeText(tested),
      login.env.map(code).join(', '),
      login.files.map((file) => code(`~/${file}`)).join(', '),
      ownDirectories(name)
        .filter(({ at }) => login.files.some((file) => file.startsWith(`${at}/`)))
        .map(({ moved }) => code(moved[0]))
        .join(', '),
    ];
  });
  const head = ['Agent', 'Program', 'npm package', 'Minimum', 'Tested', 'Key in', 'Login in', 'Moved by'];
  return markdownTable(head, cells);
}

function supportTable(): string {
  const cells = Object.values(ADAPTERS).map((adapter) => [
    code(adapter.name),
    ...SUPPORT_COLUMNS.map(({ of }) => of(supportsOf(adapter))),
  ]);
  return markdownTable(['Adapter', ...SUPPORT_COLUMNS.map(({ title }) => title)], cells);
}

function accessTable(): string {
  const cells = PROGRAMS.map(({ name, program }) => [
    code(name),
    ...ACCESS.map((level) => program.access[level]),
  ]);
  return markdownTable(['Agent', ...ACCESS.map(code)], cells);
}

type SchemaName = 'config' | 'plan' | 'ticket' | 'workflow';

/** JSON Schemas of the files people and planners write, as they may write them. */
export function jsonSchemas(): Record<SchemaName, Record<string, unknown>> {
  const workflow = schemaOf(Workflow, 'Signalbox workflow');
  // Without a name the file's own counts.
  workflow.required = (workflow.required as string[]).filter((key) => key !== 'name');
  return {
    config: settingsJsonSchema(),
    plan: unionOf(PlanBase, Plan.options, 'Signalbox plan'),
    ticket: unionOf(TicketBase, Ticket.options, 'Signalbox ticket'),
    workflow,
  };
}

/** The fields that all members have, and beside them a list with those that each of the members adds. */
function unionOf(base: z.ZodObject, members: readonly z.ZodObject[], title: string): Record<string, unknown> {
  const common = schemaOf(base, title);
  const defs = { ...(common.$defs as object | undefined) };
  const anyOf = members.map((member) => {
    const {
      properties,
      required = [],
      $defs = {},
    } = schemaOf(member, title) as z.core.JSONSchema.ObjectSchema;
    Object.assign(defs, $defs);
    const isOwn = (key: string) => !(key in base.shape);
    const own = Object.entries(properties ?? {}).filter(([key]) => isOwn(key));
    return { properties: Object.fromEntries(own), required: required.filter(isOwn) };
  });
  return { ...common, $defs: defs, anyOf };
}

function schemaOf(type: z.ZodType, title: string): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(type, {
    io: 'input',
    override: ({ jsonSchema }) => dropLimits(jsonSchema),
  });
  return { $schema, title, ...schema };
}

/** The bounds of safe whole numbers say nothing to a person. */
function dropLimits(schema: { minimum?: number; maximum?: number }): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}
