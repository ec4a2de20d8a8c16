import { join } from 'node:path';
import type { McpServer } from '../config/settings-table.ts';
import type { AgentConfig } from '../model/agent-and-adapter-types.ts';
import { redactor } from '../model/text/find-and-redact-secrets.ts';
import type { Skill } from '../workflows/install-skills.ts';
import { type FlagRule, flagged, permissionFlags, takeFlags } from './command-flags.ts';

/** What a planning session needs, independent of the CLI. */
export interface PlannerRequest {
  agent: AgentConfig;
  /** The session's own directory, outside any worktree; files are written only there. */
  dir: string;
  /** Our system prompt. */
  prompt: string;
  skills: readonly Omit<Skill, 'file'>[];
  mcpServers: Readonly<Record<string, McpServer>>;
  /** Directories outside the working directory that the session writes to. */
  writes: readonly string[];
  /** The environment it will have; only to see what the user has set. */
  env: Readonly<Record<string, string | undefined>>;
}

export type LaunchFile =
  | { path: string; text: string; mode: 0o600 | 0o700 }
  /** A symbolic link. */
  | { path: string; to: string };

/** How to start a session: made by a pure function, carried out by one spawn. */
export interface LaunchPlan {
  argv: string[];
  /** Added to the user's own environment. */
  env: Record<string, string>;
  /** Written before and removed afterwards, each below the request's `dir`. */
  files: LaunchFile[];
  /** What this CLI cannot be given. */
  notes: string[];
}

export type Launcher = (request: PlannerRequest) => LaunchPlan;

export function secretFile(dir: string, name: string, text: string): LaunchFile {
  return { path: join(dir, name), text, mode: 0o600 };
}

/** The command with the agent's own arguments, without flags of headless calls and permissions: a person is present. */
export function plannerCommand(
  { adapter, command, defaultArgs, model }: AgentConfig,
  headless: readonly FlagRule[],
  modelFlag = '--model',
): string[] {
  const { kept } = takeFlags(defaultArgs, [...headless, ...permissionFlags(adapter)]);
  return [command, ...kept, ...flagged(modelFlag, model)];
}

/** For CLIs that cannot load skills from a given directory: the agent reads the files itself. */
export function withSkillIndex(prompt: string, skills: PlannerRequest['skills']): string {
  if (skills.length === 0) return prompt;
  const lines = skills.map(
    ({ name, description, dir }) => `- ${name}: ${description} (${join(dir, 'SKILL.md')})`,
  );
  return `${prompt.trimEnd()}\n\n## Skills\n\nRead the file of a skill before you do what it is about.\n\n${lines.join('\n')}\n`;
}

const COVER = '***';

/** Options whose value may be a secret. */
const NAME = /key|token|secret|passw|pwd|auth|bearer|credential|cookie|header|signature|^-H$/i;
const FLAG = /^--?[A-Za-z][\w-]*$/;
const SECRET_TEXT =
  /token|secret|passw|api-?key|authorization|bearer|:\/\/[^/\s]*@|[?&][^=&\s]*(?:key|sig)[^=&\s]*=/i;
const shapes = redactor([]);

/** Arguments for display, with everything covered that may be a key. Covering too much is better than too little. */
export function coverArgs(args: readonly string[]): string[] {
  return args.map((arg, index) => {
    const before = args[index - 1] ?? '';
    const [, name, value = ''] = /^(--?[A-Za-z][\w-]*)=(.*)$/s.exec(arg) ?? [];
    if (name !== undefined) return NAME.test(name) || mayBeSecret(value) ? `${name}=${COVER}` : arg;
    if (FLAG.test(arg) && !hasKey(arg)) return arg;
    if (FLAG.test(before) && NAME.test(before)) return COVER;
    return mayBeSecret(arg) ? COVER : arg;
  });
}

/** Options that take no value: the next argument is a package. */
const BARE = new Set(['-y', '--yes']);

/** The same for an MCP server: any of its options may be the one with the key. */
export function coverServerArgs(args: readonly string[]): string[] {
  return coverArgs(args).map((arg, index) => {
    const before = args[index - 1] ?? '';
    const [, name] = /^(--?[A-Za-z][\w-]*)=/.exec(arg) ?? [];
    if (name !== undefined) return `${name}=${COVER}`;
    if (/^-[A-Za-z]\w*\d/.test(arg)) return `${arg.slice(0, 2)}${COVER}`;
    return !FLAG.test(arg) && FLAG.test(before) && !BARE.has(before) ? COVER : arg;
  });
}

function mayBeSecret(text: string): boolean {
  return SECRET_TEXT.test(text) || hasKey(text);
}

/** Something with the form of a key: a known one, or a long run of letters and digits that is not a path. */
function hasKey(text: string): boolean {
  if (shapes(text) !== text) return true;
  if (/^[~.]?\//.test(text)) return false;
  const rows = text.match(/[A-Za-z0-9_-]{16,}/g) ?? [];
  return rows.some((row) => /\d/.test(row) && /[A-Za-z]/.test(row) && /[A-Za-z0-9]{8,}/.test(row));
}

/** The servers for display, with everything covered that may be a key. */
export function withoutSecrets(servers: Readonly<Record<string, McpServer>>): Record<string, McpServer> {
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
