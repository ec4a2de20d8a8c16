import { join } from 'node:path';
import type { Env } from '../../machine/environment.ts';
import { statIfSeen } from '../../machine/probe.ts';
import type { Finding } from './places.ts';
import { type ProgramOptions, toolFinding } from './programs.ts';

const VARIABLES = ['GH_TOKEN', 'GITHUB_TOKEN', 'GH_ENTERPRISE_TOKEN', 'GITHUB_ENTERPRISE_TOKEN'];
/** What is left of the file after a logout. */
const NOBODY = '{}\n'.length;

/** Whether gh is there, and whether somebody seems to be logged in. Nothing is read and nobody is asked. */
export async function ghFinding(options: ProgramOptions): Promise<Finding> {
  const { env, settings } = options;
  const why = 'Only workflows that open pull requests need it';
  const finding = await toolFinding(options, {
    what: 'gh',
    command: settings.ghCommand,
    args: ['--version'],
    why,
  });
  if (finding.level !== 'ok') return finding;
  const by = VARIABLES.find((name) => env[name]) ?? hostsFile(env);
  if (by !== undefined) return { ...finding, detail: `${finding.detail}, login by ${by}, not tried` };
  return {
    ...finding,
    level: 'warn',
    detail: `${finding.detail}, no sign of a login`,
    fix: `${why}. Log in with: ${settings.ghCommand} auth login, or set GH_TOKEN.`,
  };
}

function hostsFile({ GH_CONFIG_DIR, XDG_CONFIG_HOME, HOME }: Env): string | undefined {
  const dir =
    GH_CONFIG_DIR ||
    (XDG_CONFIG_HOME ? join(XDG_CONFIG_HOME, 'gh') : HOME ? join(HOME, '.config', 'gh') : undefined);
  if (!dir) return undefined;
  const file = join(dir, 'hosts.yml');
  const size = statIfSeen(file)?.size ?? 0;
  return size > NOBODY ? file : undefined;
}
