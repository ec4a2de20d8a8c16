import { redactor } from '../../model/text/redact.ts';
import { planClaude } from '../claude/claude.ts';
import { planCodex } from '../codex/codex.ts';
import { planGemini } from '../gemini/gemini.ts';
import { planOpencode } from '../opencode/opencode.ts';
import { planPi } from '../pi/pi.ts';
import type { Launcher, PlannerServer } from './launch.ts';

const COVER = '***';

/** Options whose value is nobody's business. */
const NAME = /key|token|secret|passw|pwd|auth|bearer|credential|cookie|header|signature|^-H$/i;
const FLAG = /^--?[A-Za-z][\w-]*$/;
const TELLING =
  /token|secret|passw|api-?key|authorization|bearer|:\/\/[^/\s]*@|[?&][^=&\s]*(?:key|sig)[^=&\s]*=/i;
const shapes = redactor([]);

/** Arguments with everything that may be a key covered, for showing. Rather a word too many than a key. */
export function coverArgs(args: readonly string[]): string[] {
  return args.map((arg, index) => {
    const before = args[index - 1] ?? '';
    const [, name, value = ''] = /^(--?[A-Za-z][\w-]*)=(.*)$/s.exec(arg) ?? [];
    if (name !== undefined) return NAME.test(name) || isTelling(value) ? `${name}=${COVER}` : arg;
    if (FLAG.test(arg) && !hasKey(arg)) return arg;
    if (FLAG.test(before) && NAME.test(before)) return COVER;
    return isTelling(arg) ? COVER : arg;
  });
}

/** Options that take no value: what stands behind them is a package. */
const BARE = new Set(['-y', '--yes']);

/** The same for a server that somebody else wrote: any of its options may be the one with the key. */
export function coverServerArgs(args: readonly string[]): string[] {
  return coverArgs(args).map((arg, index) => {
    const before = args[index - 1] ?? '';
    const [, name] = /^(--?[A-Za-z][\w-]*)=/.exec(arg) ?? [];
    if (name !== undefined) return `${name}=${COVER}`;
    if (/^-[A-Za-z]\w*\d/.test(arg)) return `${arg.slice(0, 2)}${COVER}`;
    return !FLAG.test(arg) && FLAG.test(before) && !BARE.has(before) ? COVER : arg;
  });
}

function isTelling(text: string): boolean {
  return TELLING.test(text) || hasKey(text);
}

/** Something with the form of a key: a known one, or letters and digits in a long row that is no path. */
function hasKey(text: string): boolean {
  if (shapes(text) !== text) return true;
  if (/^[~.]?\//.test(text)) return false;
  const rows = text.match(/[A-Za-z0-9_-]{16,}/g) ?? [];
  return rows.some((row) => /\d/.test(row) && /[A-Za-z]/.test(row) && /[A-Za-z0-9]{8,}/.test(row));
}

export type { LaunchFile, LaunchPlan, PlannerServer } from './launch.ts';

/** CLIs that can plan with a person, the first that is installed being the default. */
export const LAUNCHERS: Readonly<Record<string, Launcher>> = {
  pi: planPi,
  claude: planClaude,
  codex: planCodex,
  opencode: planOpencode,
  gemini: planGemini,
};

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
