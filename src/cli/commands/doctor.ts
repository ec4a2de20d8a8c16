import { agentFindings, surveyAgents } from '../../agents/installed-agents.ts';
import { configFinding, examine, isHealthy } from '../../config/doctor/doctor.ts';
import { loadSettings } from '../../config/load.ts';
import { packageDir } from '../../config/paths.ts';
import { SignalboxError } from '../../model/errors.ts';
import { agentsText } from '../../report/agents-table.ts';
import { style } from '../../report/style.ts';
import { checkAll } from '../../workflows/check/check-workflow.ts';
import { type Io, outJson } from '../io.ts';
import type { GlobalOptions } from '../open-state.ts';

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
    : await examine({
        settings,
        configError,
        env: io.env,
        nodeVersion: process.versions.node,
        checkWorkflows: checkAll,
      });
  const ok = isHealthy(findings);
  if (!ok) io.exit(1);
  if (options.json) return outJson(io, { ok, agents, findings });
  const look = style(io.color);
  if (agents) io.out([...agentsText(agents, look), ...(findings.length > 0 ? [''] : [])]);
  const width = Math.max(...findings.map(({ what }) => what.length));
  for (const { level, what, detail, fix } of findings) {
    const [mark, paint] = MARKS[level];
    io.out(`${look[paint](mark)} ${what.padEnd(width)}  ${detail}`);
    const margin = ' '.repeat(width + 4);
    io.out((fix?.split('\n') ?? []).map((line, at) => `${margin}${at === 0 ? '→' : ' '} ${line}`));
  }
}

const MARKS = { ok: ['✓', 'green'], warn: ['!', 'yellow'], bad: ['✗', 'red'] } as const;
