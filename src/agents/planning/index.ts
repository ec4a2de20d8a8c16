import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { COVER, coverServerArgs } from './cover.ts';
import { gemini } from './gemini.ts';
import type { Launcher, PlannerServer } from './launch.ts';
import { opencode } from './opencode.ts';
import { pi } from './pi.ts';

export { coverArgs, coverServerArgs } from './cover.ts';
export type { LaunchFile, LaunchPlan, PlannerRequest, PlannerServer, PlannerSkill } from './launch.ts';

/** CLIs that can plan with a person, the first that is installed being the default. */
export const LAUNCHERS: Readonly<Record<string, Launcher>> = { pi, claude, codex, opencode, gemini };

/** Those that can be given MCP servers for one session. */
export const WITH_SERVERS: readonly string[] = ['claude', 'codex', 'opencode'];

/** The same servers with everything that may be a key covered, for showing. */
export function withoutSecrets(
  servers: Readonly<Record<string, PlannerServer>>,
): Record<string, PlannerServer> {
  return Object.fromEntries(
    Object.entries(servers).map(([name, { command, args, env }]) => [
      name,
      {
        command,
        args: coverServerArgs(args),
        env: Object.fromEntries(Object.keys(env).map((key) => [key, COVER])),
      },
    ]),
  );
}
