import type { Command } from 'commander';
import type { SurveyedAgent } from '../../agents/survey.ts';
import type { DoctorFinding } from '../../config/doctor/programs.ts';
import { packageDir } from '../../config/paths.ts';
import type { Settings } from '../../config/settings.ts';
import { type Io, outJson } from '../io.ts';

interface Options {
  agents?: boolean;
  config?: string;
  json?: boolean;
}

export function registerDoctor(program: Command, io: Io): void {
  program
    .command('doctor')
    .description('check node, git, agents, settings and workflows, and say how to fix what is missing')
    .option('--agents', 'look at the agents alone: version, login, and what each one supports')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Ends with 1 when something required is missing; what is only worth knowing is marked "!".

Examples:
  $ signalbox doctor
  $ signalbox doctor --agents
  $ signalbox doctor --json`,
    )
    .action(async (_options: unknown, command: Command) => doctor(command.optsWithGlobals<Options>(), io));
}

async function doctor(options: Options, io: Io): Promise<void> {
  const { configFinding, examine, isHealthy } = await import('../../config/doctor/doctor.ts');
  const { loadSettings } = await import('../../config/load.ts');
  const { SignalboxError } = await import('../../model/errors.ts');
  const load = { cwd: io.cwd, env: io.env, configPath: options.config, packageDir: packageDir() };
  let configError: InstanceType<typeof SignalboxError> | null = null;
  const settings = await loadSettings(load).catch((error: unknown) => {
    if (!(error instanceof SignalboxError)) throw error;
    configError = error;
    const { HOME, SIGNALBOX_HOME, SIGNALBOX_CONFIG } = io.env;
    return loadSettings({ ...load, env: { HOME, SIGNALBOX_HOME, SIGNALBOX_CONFIG }, withoutFiles: true });
  });
  if (options.agents) {
    const { agents, findings } = await lookAtAgents(settings, io);
    if (configError) findings.unshift(configFinding({ settings, configError }));
    const ok = isHealthy(findings);
    if (options.json) outJson(io, { ok, agents, findings });
    else await printAgents(agents, findings, io);
    if (!ok) io.exit(1);
    return;
  }
  const findings = await examine({
    settings,
    configError,
    env: io.env,
    nodeVersion: process.versions.node,
    checkWorkflows: async (using) => (await import('../../workflows/check/check.ts')).checkAll(using),
  });
  const ok = isHealthy(findings);
  if (options.json) outJson(io, { ok, findings });
  else print(findings, io);
  if (!ok) io.exit(1);
}

async function lookAtAgents(settings: Settings, io: Io) {
  const { agentFindings, surveyAgents } = await import('../../agents/survey.ts');
  const agents = await surveyAgents({ settings, env: io.env });
  return { agents, findings: agentFindings(agents) };
}

async function printAgents(agents: SurveyedAgent[], findings: DoctorFinding[], io: Io): Promise<void> {
  const { agentsText } = await import('../../report/agents-table.ts');
  const { style } = await import('../../report/style.ts');
  io.out(agentsText(agents, style(io.color)));
  if (findings.length > 0) io.out('');
  print(findings, io);
}

const MARKS: Record<DoctorFinding['level'], { mark: string; color: number }> = {
  ok: { mark: '✓', color: 32 },
  warn: { mark: '!', color: 33 },
  bad: { mark: '✗', color: 31 },
};

function print(findings: DoctorFinding[], io: Io): void {
  const width = Math.max(...findings.map(({ what }) => what.length));
  for (const { level, what, detail, fix } of findings) {
    const { mark, color } = MARKS[level];
    io.out(`${io.color ? `\u001b[${color}m${mark}\u001b[0m` : mark} ${what.padEnd(width)}  ${detail}`);
    if (fix !== null) io.out(`  ${' '.repeat(width)}  → ${fix}`);
  }
}
