import type { Command } from 'commander';
import type { Finding } from '../config/doctor-places.ts';
import { type Io, outJson } from './io.ts';
import { packageDir } from './package-dir.ts';

interface Options {
  config?: string;
  json?: boolean;
}

export function register(program: Command, io: Io): void {
  program
    .command('doctor')
    .description('check node, git, agents, settings and workflows, and say how to fix what is missing')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Ends with 1 when something required is missing; what is only worth knowing is marked "!".

Examples:
  $ signalbox doctor
  $ signalbox doctor --json`,
    )
    .action(async (_options: unknown, command: Command) => doctor(command.optsWithGlobals<Options>(), io));
}

async function doctor(options: Options, io: Io): Promise<void> {
  const { examine, isHealthy } = await import('../config/doctor.ts');
  const { loadSettings } = await import('../config/load.ts');
  const { SignalboxError } = await import('../model/errors.ts');
  const load = { cwd: io.cwd, env: io.env, configPath: options.config, packageDir: packageDir() };
  let configError: InstanceType<typeof SignalboxError> | null = null;
  const settings = await loadSettings(load).catch((error: unknown) => {
    if (!(error instanceof SignalboxError)) throw error;
    configError = error;
    const { HOME, SIGNALBOX_HOME } = io.env;
    return loadSettings({ ...load, env: { HOME, SIGNALBOX_HOME }, withoutFiles: true });
  });
  const findings = await examine({
    settings,
    configError,
    env: io.env,
    nodeVersion: process.versions.node,
    checkWorkflows: async (using) => (await import('../content/index.ts')).checkAll(using),
  });
  const ok = isHealthy(findings);
  if (options.json) outJson(io, { ok, findings });
  else print(findings, io);
  if (!ok) io.exit(1);
}

const MARKS: Record<Finding['level'], { mark: string; color: number }> = {
  ok: { mark: '✓', color: 32 },
  warn: { mark: '!', color: 33 },
  bad: { mark: '✗', color: 31 },
};

function print(findings: Finding[], io: Io): void {
  const width = Math.max(...findings.map(({ what }) => what.length));
  for (const { level, what, detail, fix } of findings) {
    const { mark, color } = MARKS[level];
    io.out(`${io.color ? `\u001b[${color}m${mark}\u001b[0m` : mark} ${what.padEnd(width)}  ${detail}`);
    if (fix !== null) io.out(`  ${' '.repeat(width)}  → ${fix}`);
  }
}
