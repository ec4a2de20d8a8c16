import type { Env } from '../../machine/environment.ts';
import { messageOf, type SignalboxError } from '../../model/errors.ts';
import { nearest } from '../../model/text/near.ts';
import type { Settings } from '../settings.ts';
import { ROWS, variableOf } from '../table.ts';
import { diskFinding, ghFinding, sandboxFindings, stateFinding } from './places.ts';
import {
  agentFinding,
  agentsToCheck,
  type DoctorFinding,
  gitFinding,
  nodeFinding,
  type ProgramOptions,
  toolFinding,
} from './programs.ts';

interface WorkflowReport {
  file: string;
  name: string | null;
  /** The file of the same name that goes before it. */
  shadowedBy?: string;
  problems: { line: number; column: number; message: string; hint?: string | undefined }[];
}

export interface DoctorOptions extends ProgramOptions {
  /** Why the user's own settings could not be loaded; `settings` are then the defaults. */
  configError: SignalboxError | null;
  /** As in process.versions.node. */
  nodeVersion: string;
  checkWorkflows(settings: Settings): Promise<WorkflowReport[]>;
}

/** Checks everything that a run needs. Changes nothing, and never throws for what it finds. */
export async function examine(options: DoctorOptions): Promise<DoctorFinding[]> {
  const findings = await Promise.all([
    nodeFinding(options.nodeVersion),
    gitFinding(options),
    toolFinding(options, {
      what: 'tmux',
      command: 'tmux',
      args: ['-V'],
      why: 'Jobs run without it; windows that follow them are not shown',
    }),
    ghFinding(options),
    ...agentsToCheck(options).map((agent) => agentFinding(options, agent)),
    sandboxFindings(options),
    configFinding(options),
    ...variableFindings(options.env),
    stateFinding(options.settings.stateDir),
    diskFinding(options.settings.stateDir),
    workflowFindings(options),
  ]);
  return findings.flat();
}

export function isHealthy(findings: DoctorFinding[]): boolean {
  return findings.every((finding) => finding.level !== 'bad');
}

export function configFinding({
  settings,
  configError,
}: Pick<DoctorOptions, 'settings' | 'configError'>): DoctorFinding {
  if (configError)
    return { level: 'bad', what: 'config', detail: configError.message, fix: configError.hint ?? null };
  if (settings.configFile) return { level: 'ok', what: 'config', detail: settings.configFile, fix: null };
  return { level: 'ok', what: 'config', detail: 'no file; defaults are in force', fix: null };
}

/** A misspelt variable would do nothing at all. */
function variableFindings(env: Env): DoctorFinding[] {
  const known = ROWS.map(({ key }) => variableOf(key));
  return Object.keys(env)
    .filter((name) => name.startsWith('SIGNALBOX_') && !known.includes(name))
    .flatMap((name) => {
      const near = nearest(
        name.slice(10),
        known.map((variable) => variable.slice(10)),
      );
      if (near === undefined) return [];
      return [
        {
          level: 'warn',
          what: 'environment',
          detail: `${name} is no setting`,
          fix: `Did you mean SIGNALBOX_${near}?`,
        },
      ];
    });
}

async function workflowFindings({ settings, checkWorkflows }: DoctorOptions): Promise<DoctorFinding[]> {
  let reports: WorkflowReport[];
  try {
    reports = await checkWorkflows(settings);
  } catch (error) {
    return [
      { level: 'bad', what: 'workflows', detail: messageOf(error), fix: 'Run `signalbox workflow check`.' },
    ];
  }
  const bad = reports.filter((report) => report.problems.length > 0);
  const good = reports.filter((report) => !bad.includes(report) && !report.shadowedBy).length;
  const summary: DoctorFinding = { level: 'ok', what: 'workflows', detail: `${good} valid`, fix: null };
  if (reports.length === 0)
    return [
      {
        ...summary,
        level: 'bad',
        detail: 'none found',
        fix: `Looked in ${settings.searchPath.workflows.join(', ')}.`,
      },
    ];
  return [...(good > 0 ? [summary] : []), ...bad.map(badWorkflow)];
}

function badWorkflow({ file, name, problems }: WorkflowReport): DoctorFinding {
  const [first] = problems;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  return {
    level: 'bad',
    what: `workflow ${name ?? file}`,
    detail: `${file}:${first?.line}:${first?.column}: ${first?.message}${more}`,
    fix: first?.hint ?? `Run \`signalbox workflow check ${file}\`.`,
  };
}
