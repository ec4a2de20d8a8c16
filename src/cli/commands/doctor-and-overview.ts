import { existsSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SUPPORT_COLUMNS, supportsOf } from '../../agents/adapter-abilities-table.ts';
import { ADAPTERS } from '../../agents/adapters-and-agent-problems.ts';
import { agentFindings, type SurveyedAgent, surveyAgents } from '../../agents/check-installed-agents.ts';
import { rangeText } from '../../agents/program-versions.ts';
import type { DoctorFinding } from '../../config/doctor/check-programs.ts';
import { agentsToCheck, finding, missingProgram } from '../../config/doctor/check-programs.ts';
import { configFinding, examine, isHealthy } from '../../config/doctor/doctor.ts';
import { packageDir, repositoryOf } from '../../config/find-config-and-state.ts';
import { loadSettings } from '../../config/load-settings.ts';
import type { Settings } from '../../config/settings-table.ts';
import { checksOf } from '../../features/checks/find-and-run-checks.ts';
import {
  githubFindings,
  identityFindings,
} from '../../features/preflight/find-start-problems-and-forecast.ts';
import { UNASKED } from '../../github/find-own-repository.ts';
import { ifUsable, ignoring, orError, SignalboxError } from '../../model/errors.ts';
import { groupBy } from '../../model/group-and-remember.ts';
import { countHidden, latestFinished } from '../../model/plans/latest-plans-and-unknown-name-errors.ts';
import { isToRetry } from '../../model/state/explain-ticket.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { shellWord } from '../../model/text/quote-values-for-shell.ts';
import { isCancelled, isOver } from '../../model/ticket.ts';
import { enginesIn } from '../../report/engines-of-tickets.ts';
import { statusOf } from '../../report/plan-and-ticket-status.ts';
import { oneLine } from '../../report/printable-text.ts';
import { asGitHasIt, nextSteps, workLine } from '../../report/status-text.ts';
import type { Style } from '../../report/style-and-phrases.ts';
import { fittingTable, foldProse } from '../../report/tables-and-text-wrapping.ts';
import { checkAll } from '../../workflows/check/check-workflow.ts';
import { createWorkspaces } from '../../workspaces/workspaces.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { plansHere } from '../find-named-plans-and-tickets.ts';
import { type Io, outJson, outWrapped } from '../io.ts';
import type { GlobalOptions } from '../open-settings-store-and-engine.ts';
import { openState, storeAddress } from '../open-settings-store-and-engine.ts';

export async function doctor(io: Io, options: OptionsOf<'doctor'>): Promise<void> {
  const { settings, configError } = await settingsOrDefaults(io, options);
  const agents = options.agents ? await surveyAgents({ settings, env: io.env }) : undefined;
  const findings = agents
    ? [...(configError ? [configFinding({ settings, configError })] : []), ...agentFindings(agents)]
    : [
        ...(await examine({
          settings,
          configError,
          env: io.env,
          nodeVersion: process.versions.node,
          checkWorkflows: checkAll,
        })),
        ...(await identityHere(io)),
        ...(storeAddress(io, options)
          ? [...fleetFindings(process.versions.node), ...(await storeFindings(io, options))]
          : []),
      ];
  const ok = isHealthy(findings);
  if (!ok) io.exit(1);
  if (options.json) return outJson(io, { ok, agents, findings });
  if (agents) io.out([...agentsText(agents, io.style, io.columns?.()), ...(findings.length > 0 ? [''] : [])]);
  const width = Math.max(...findings.map(({ what }) => what.length));
  for (const { level, what, detail, fix } of findings) {
    const [mark, paint] = MARKS[level];
    const margin = ' '.repeat(width + 4);
    const room = (io.columns?.() ?? Number.POSITIVE_INFINITY) - margin.length - 2;
    const [first = '', ...more] = foldProse(detail, room);
    io.out([
      `${io.style[paint](mark)} ${what.padEnd(width)}  ${first}`,
      ...more.map((line) => margin + line),
    ]);
    const fixes = (fix?.split('\n') ?? []).flatMap((line) => foldProse(line, room));
    io.out(fixes.map((line, at) => `${margin}${at === 0 ? '→' : ' '} ${line}`));
  }
}

/** The settings; where the files cannot be used, those without them, and why. */
async function settingsOrDefaults(io: Io, { config }: GlobalOptions) {
  const load = { cwd: io.cwd, env: io.env, configPath: config, packageDir: packageDir() };
  const read = await orError(SignalboxError, () => loadSettings(load));
  if (!(read instanceof SignalboxError)) return { settings: read, configError: null };
  const { HOME, SIGNALBOX_HOME, SIGNALBOX_CONFIG } = io.env;
  const env = { HOME, SIGNALBOX_HOME, SIGNALBOX_CONFIG };
  return { settings: await loadSettings({ ...load, env, withoutFiles: true }), configError: read };
}

/** The oldest Node that pg-boss declares. */
const WORKER_NODE = [22, 12] as const;

function fleetFindings(version: string): DoctorFinding[] {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isOld = major < WORKER_NODE[0] || (major === WORKER_NODE[0] && minor < WORKER_NODE[1]);
  const detail = `Node ${version}${isOld ? `; workers need Node ${WORKER_NODE.join('.')} or newer` : ''}`;
  const pooler =
    'A connection has to stay open: do not reach PostgreSQL through PgBouncer in transaction mode.';
  return [{ level: isOld ? 'warn' : 'ok', what: 'fleet', detail, fix: pooler }];
}

/** Whether the optional packages are there, and the store answers. */
async function storeFindings(io: Io, options: GlobalOptions): Promise<DoctorFinding[]> {
  const { peerProblems } = await import('../../store/postgres/open-postgres.ts');
  const bad = ({ message, hint }: SignalboxError) => finding('bad', 'store', message, hint);
  const missing = peerProblems().map(bad);
  if (missing.length > 0) return missing;
  const read = await orError(SignalboxError, () => openState(io, options, (state) => state.location()));
  return [read instanceof SignalboxError ? bad(read) : finding('ok', 'store', read.view)];
}

/** Nothing outside a repository. */
async function identityHere({ cwd, env }: Io): Promise<DoctorFinding[]> {
  const engine = { workspaces: createWorkspaces({ env }) };
  return (await ignoring(SignalboxError, () => identityFindings(engine, cwd))) ?? [];
}

const MARKS = { ok: ['✓', 'green'], warn: ['!', 'yellow'], bad: ['✗', 'red'] } as const;

/** Two tables: installed agents, and what their adapters can do. */
function agentsText(surveyed: readonly SurveyedAgent[], style: Style, columns?: number): string[] {
  const found = fittingTable(
    ['AGENT', 'ADAPTER', 'VERSION', 'TESTED', 'LOGGED IN', 'FOUND'],
    surveyed.map((one) => [
      `${one.agent}${one.isDefault ? ' (default)' : ''}`,
      one.adapter === one.agent ? '' : one.adapter,
      one.standing === 'older' || one.standing === 'newer'
        ? style.yellow(one.version ?? '')
        : (one.version ?? ''),
      one.tested ? rangeText(one.tested) : '',
      loginText(one),
      one.path === null ? style.dim('no') : oneLine(one.path),
    ]),
    { style, columns, lead: 1 },
  );
  const adapters = Object.values(ADAPTERS).filter(({ name }) =>
    surveyed.some(({ adapter }) => adapter === name),
  );
  const supports = fittingTable(
    ['ADAPTER', ...SUPPORT_COLUMNS.map(({ title }) => title.toUpperCase())],
    adapters.map((adapter) => [adapter.name, ...SUPPORT_COLUMNS.map(({ of }) => of(supportsOf(adapter)))]),
    { style, columns, lead: 1 },
  );
  return [...found, '', ...supports];
}

function loginText({ path, login }: SurveyedAgent): string {
  if (path === null || login === null) return '';
  return login.seen ? `yes (${login.by})` : 'no sign';
}

const SPECS = join('.kiro', 'specs');
const MAX_LISTED = 3;
const MAX_NEXT = 3;

/** What `signalbox` alone shows on a terminal: what is here, what needs a person, and what to type next. Writes nothing. */
export async function overview(io: Io): Promise<void> {
  const { settings, configError } = await settingsOrDefaults(io, {});
  const top = repositoryOf(io.cwd);
  const agents = agentsToCheck({ settings, env: io.env })
    .filter((agent) => agent.adapter !== 'rehearsal' && !missingProgram({ settings, env: io.env }, agent))
    .map(({ name }) => name);
  const specs = top === null ? [] : specsIn(join(top, SPECS)).map((dir) => relative(io.cwd, dir));
  const read = configError ?? (await openWorkInTime(io));
  const [open, problem] = read instanceof SignalboxError ? [[], read] : [read, null];
  const forge =
    top === null
      ? undefined
      : await forgeOf(io, settings, top).catch((error: unknown) => ({ text: reasonOf(error), flag: '' }));
  const facts = [
    ['Agents', agents.join(', ') || 'none found; the agent "rehearsal" needs neither key nor network'],
    ...(top === null
      ? [['Repository', 'none here; Signalbox works on a git repository']]
      : [
          ['Repository', top],
          ['Forge', forge?.text ?? ''],
          ...(configError ? [] : [['Checks', await checksHere(settings, top).catch(reasonOf)]]),
          ['Specs', specs.join(', ') || 'none'],
        ]),
    ...(problem ? [[configError ? 'Settings' : 'Plans', problem.message]] : []),
    ...(problem?.hint ? [['', problem.hint]] : []),
  ];
  const agent = agents.length > 0 ? '' : ' --agent rehearsal';
  const runs = top !== null && !problem;
  const next = [
    ...(open.length > 0 ? [['Look', 'signalbox status']] : []),
    ...(runs ? [['Run', `signalbox run --task "Fix the typo in README"${agent}${forge?.flag}`]] : []),
    ...specs
      .slice(0, runs ? 1 : 0)
      .map((dir) => ['Spec', `signalbox spec ${shellWord(dir)}${agent.replace('agent', 'backend')}`]),
    ...(open.length > 0 ? [] : [['Set up', 'signalbox doctor']]),
    ['Help', 'signalbox --help'],
  ].slice(0, MAX_NEXT);
  const lines = [
    'Runs coding agents on your tasks and issues, each in its own git worktree.',
    '',
    ...pairs(facts, io.columns?.()),
    ...open,
    '',
    io.style.bold('Next'),
    ...pairs(next, io.columns?.()),
  ];
  outWrapped(io, lines);
  // A connection that is still being made would keep the process.
  if (problem === LATE) io.leave(0);
}

/** This screen comes within a second, also where the store of a fleet does not answer. */
const MAX_WAIT_MS = 600;
const LATE = new SignalboxError('store/late', 'The store of the fleet has not answered yet.', {
  hint: 'signalbox status waits for it.',
});

async function openWorkInTime(io: Io): Promise<string[] | SignalboxError> {
  const work = orError(SignalboxError, () => openWork(io));
  if (!ifUsable(() => storeAddress(io, {}))) return work;
  const timer = new AbortController();
  const late = delay(MAX_WAIT_MS, LATE, timer).catch(() => LATE);
  return Promise.race([work, late]).finally(() => timer.abort());
}

function pairs(rows: readonly (readonly string[])[], columns = Number.POSITIVE_INFINITY): string[] {
  const width = Math.max(...rows.map(([left = '']) => left.length));
  const margin = ' '.repeat(width + 4);
  return rows.flatMap(([left = '', right = '']) => {
    const [first = '', ...more] = foldProse(oneLine(right, 300), columns - margin.length);
    return [`  ${left.padEnd(width)}  ${first}`, ...more.map((line) => margin + line)];
  });
}

function specsIn(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir)
    .map((name) => join(dir, name))
    .filter((path) => existsSync(join(path, 'tasks.md')));
}

/** Whether runs open pull requests, and what a run needs where they cannot. */
async function forgeOf({ env }: Io, { ghCommand, run }: Settings, repo: string) {
  const workspaces = createWorkspaces({ env });
  if (!(await workspaces.hasRemote(repo)))
    return { text: 'no remote called origin: work stays on its branch', flag: '' };
  const [problem] = await githubFindings({ workspaces, settings: { ghCommand }, env }, repo, UNASKED);
  if (!problem) return { text: 'origin, and gh for pull requests', flag: '' };
  return { text: problem.detail, flag: run.pr ? ' --no-pr' : '' };
}

async function checksHere({ checks }: Settings, repo: string): Promise<string> {
  const found = await checksOf(checks, repo);
  return found.map(({ command }) => command).join(', ') || 'none found';
}

/** Why a fact is not known: a repository without commits, a package.json that cannot be read. */
function reasonOf(error: unknown): string {
  if (error instanceof SignalboxError) return error.message;
  throw error;
}

/** Tickets of this repository that need a person, then how many others are open, here and elsewhere; then finished work to merge. */
async function openWork(io: Io): Promise<string[]> {
  const { store, view } = await openState(io, {}, (state) => state.glance());
  const holder = store.holder('status');
  const isHere = plansHere(io, store) ?? (() => true);
  const drivers = enginesIn(store, holder);
  const here = statusOf({ view, holder, now: Date.now(), isWanted: isHere, ...drivers });
  const tickets = here.flatMap(({ plan, tickets: own }) => own.map((each) => ({ ...each, plan })));
  const shown = here.map(({ plan }) => plan);
  const elsewhere = countHidden(view, shown).open;
  const needed = tickets.filter(
    ({ ticket }) =>
      (ticket.status === 'failed' && !isCancelled(ticket)) || ticket.status === 'needs_attention',
  );
  const rest = tickets.filter(({ ticket }) => !isOver(ticket) && ticket.status !== 'needs_attention');
  const paused = rest.filter(
    ({ ticket, plan }) =>
      ticket.status === 'paused' || (plan.status === 'paused' && ticket.status !== 'running'),
  );
  const continued = new Set(rest.flatMap(({ next }) => (next.startsWith('signalbox ') ? [next] : [])));
  const equal = [
    ...groupBy(needed, ({ ticket, why }) => `${ticket.planId} ${ticket.status} ${why}`).values(),
  ];
  const lines = equal.slice(0, MAX_LISTED).flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const { ticket, why, plan } = first;
    const isBulk = group.length > 1 && isToRetry(ticket);
    const who =
      group.length > 1
        ? `${ticket.planId}: ${group.length} tickets need you`
        : `${ticket.planId}/${ticket.ticketId} needs you`;
    const commands = isBulk ? [`signalbox retry --failed ${ticket.planId}`] : nextSteps(first, plan);
    return [`  ${who}: ${oneLine(why, 200)}`, ...commands.map((each) => `    → ${oneLine(each, 300)}`)];
  });
  const hidden = equal.slice(MAX_LISTED).flat().length;
  const counts = [
    ...(hidden > 0 ? [`${hidden} more ${hidden === 1 ? 'needs' : 'need'} you`] : []),
    ...(rest.length > paused.length ? [`${rest.length - paused.length} running or waiting`] : []),
    ...(paused.length > 0 ? [`${paused.length} paused`] : []),
  ];
  const finished = latestFinished(view, (plan) => plan.status === 'complete' && isHere(plan));
  const done = finished.slice(0, MAX_LISTED).map((plan) => {
    const own = store.tickets(plan).map((ticket) => ({ ticket, why: '', next: '' }));
    return { plan, tickets: own, problems: [] };
  });
  const unmerged = (await asGitHasIt(done, async () => createWorkspaces({ env: io.env })))
    .flatMap(({ plan, tickets: own }) =>
      workLine(
        plan,
        own.map(({ ticket }) => ticket),
      )
        .slice(0, 1)
        .map((line) => `  ${plan.id}: ${line}`),
    )
    .filter((line) => line.includes('→'));
  const open = [
    ...lines,
    ...(counts.length > 0 ? [`  ${counts.join(', ')}`] : []),
    ...[...continued].slice(0, MAX_LISTED).map((command) => `    → ${command}`),
    ...(elsewhere > 0
      ? [`  ${plural(elsewhere, 'open plan')} of other repositories: signalbox status --all`]
      : []),
  ];
  return [
    ...(open.length > 0 ? ['', io.style.bold('Open'), ...open] : []),
    ...(unmerged.length > 0 ? ['', io.style.bold('Finished, not merged'), ...unmerged] : []),
  ];
}
