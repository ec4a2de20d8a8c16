import { ADAPTERS } from '../../agents/adapters.ts';
import {
  agentFindings,
  rangeText,
  SUPPORT_COLUMNS,
  type SurveyedAgent,
  supportsOf,
  surveyAgents,
} from '../../agents/installed-agents.ts';
import type { DoctorFinding } from '../../config/doctor/check-programs.ts';
import { configFinding, examine, isHealthy } from '../../config/doctor/doctor.ts';
import { packageDir } from '../../config/find-config-and-state.ts';
import { loadSettings } from '../../config/load-settings.ts';
import { identityFindings } from '../../features/preflight/find-start-problems.ts';
import { SignalboxError } from '../../model/errors.ts';
import { oneLine, type Style, style } from '../../report/style-and-phrases.ts';
import { table } from '../../report/table.ts';
import { checkAll } from '../../workflows/check/check-workflow.ts';
import { createWorkspaces } from '../../workspaces/workspaces.ts';
import { type Io, outJson } from '../io.ts';
import type { GlobalOptions } from '../open-state-and-check-flags.ts';

export async function doctor(io: Io, options: GlobalOptions & { agents?: boolean }): Promise<void> {
  const load = { cwd: io.cwd, env: io.env, configPath: options.config, packageDir: packageDir() };
  let configError: SignalboxError | null = null;
  const settings = await loadSettings(load).catch((error: unknown) => {
    if (!(error instanceof SignalboxError)) throw error;
    configError = error;
    const { HOME, SIGNALBOX_HOME, SIGNALBOX_CONFIG } = io.env;
    return loadSettings({ ...load, env: { HOME, SIGNALBOX_HOME, SIGNALBOX_CONFIG }, withoutFiles: true });
  });
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
      ];
  const ok = isHealthy(findings);
  if (!ok) io.exit(1);
  if (options.json) return outJson(io, { ok, agents, findings });
  const colors = style(io.color);
  if (agents) io.out([...agentsText(agents, colors), ...(findings.length > 0 ? [''] : [])]);
  const width = Math.max(...findings.map(({ what }) => what.length));
  for (const { level, what, detail, fix } of findings) {
    const [mark, paint] = MARKS[level];
    io.out(`${colors[paint](mark)} ${what.padEnd(width)}  ${detail}`);
    const margin = ' '.repeat(width + 4);
    io.out((fix?.split('\n') ?? []).map((line, at) => `${margin}${at === 0 ? '→' : ' '} ${line}`));
  }
}

/** Nothing outside a repository. */
async function identityHere({ cwd, env }: Io): Promise<DoctorFinding[]> {
  try {
    return await identityFindings({ workspaces: createWorkspaces({ env }) }, cwd);
  } catch (error) {
    if (error instanceof SignalboxError) return [];
    throw error;
  }
}

const MARKS = { ok: ['✓', 'green'], warn: ['!', 'yellow'], bad: ['✗', 'red'] } as const;

/** Two tables: installed agents, and what their adapters can do. */
function agentsText(surveyed: readonly SurveyedAgent[], style: Style): string[] {
  const found = table(
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
    style,
  );
  const adapters = Object.values(ADAPTERS).filter(({ name }) =>
    surveyed.some(({ adapter }) => adapter === name),
  );
  const supports = table(
    ['ADAPTER', ...SUPPORT_COLUMNS.map(({ title }) => title.toUpperCase())],
    adapters.map((adapter) => [adapter.name, ...SUPPORT_COLUMNS.map(({ of }) => of(supportsOf(adapter)))]),
    style,
  );
  return [...found, '', ...supports];
}

function loginText({ path, login }: SurveyedAgent): string {
  if (path === null || login === null) return '';
  return login.seen ? `yes (${login.by})` : 'no sign';
}
