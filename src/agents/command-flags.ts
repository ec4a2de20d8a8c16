import type { Access, AgentConfig, AgentRequest } from '../model/agent-and-adapter-types.ts';
import { checkedSessionId } from './reading/stream-reader.ts';

/** A flag to take out of a list of arguments. */
export interface FlagRule {
  names: readonly string[];
  takesValue: boolean;
  /** Only with such a value; for flags like `-c key=value` that mean many things. */
  when?: RegExp;
}

/** Flags without a value, with spaces between them. */
export function switches(...names: string[]): FlagRule {
  return { names: names.join(' ').split(' '), takesValue: false };
}

/** Flags with a value. */
export function options(...names: string[]): FlagRule {
  return { ...switches(...names), takesValue: true };
}

interface FoundFlag {
  name: string;
  value: string | null;
}

/** Splits arguments into the flags that rules name, in all their spellings, and the rest. */
export function takeFlags(
  args: readonly string[],
  rules: readonly FlagRule[],
): { kept: string[]; found: FoundFlag[] } {
  const kept: string[] = [];
  const found: FoundFlag[] = [];
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] as string;
    if (arg === '--') {
      kept.push(...args.slice(i));
      break;
    }
    const hit = match(arg, args[i + 1], rules);
    if (!hit) {
      kept.push(arg);
      continue;
    }
    found.push(hit.flag);
    i += hit.extra;
  }
  return { kept, found };
}

function match(arg: string, next: string | undefined, rules: readonly FlagRule[]) {
  for (const rule of rules) {
    for (const name of rule.names) {
      const flag = spelling(arg, next, name, rule.takesValue);
      if (flag && (!rule.when || rule.when.test(flag.flag.value ?? ''))) return flag;
    }
  }
  return undefined;
}

/** `--flag`, `--flag value`, `--flag=value`, and `-fvalue` for short ones. */
function spelling(arg: string, next: string | undefined, name: string, takesValue: boolean) {
  if (!takesValue) return arg === name ? { flag: { name, value: null }, extra: 0 } : undefined;
  if (arg === name) return { flag: { name, value: next ?? null }, extra: next === undefined ? 0 : 1 };
  if (arg.startsWith(`${name}=`)) return { flag: { name, value: arg.slice(name.length + 1) }, extra: 0 };
  const short = name.length === 2 && arg.startsWith(name);
  return short ? { flag: { name, value: arg.slice(2) }, extra: 0 } : undefined;
}

/** The user's own arguments, without the flags that an adapter always sets or sets for a field of this request. */
export function userArgs(
  request: AgentRequest,
  always: readonly FlagRule[],
  forField: Partial<Record<'model' | 'effort' | 'schema', FlagRule>> = {},
): string[] {
  const { agent, model, effort, schema } = request;
  const set = [model && forField.model, effort && forField.effort, schema && forField.schema];
  const rules = [...always, ...permissionFlags(agent.adapter), ...set.filter((rule) => !!rule)];
  return takeFlags(agent.defaultArgs, rules).kept;
}

/** A flag with its value; nothing where there is no value. */
export function flagged(flag: string, value: string | null): string[] {
  return value ? [flag, value] : [];
}

/** The arguments that continue a session or, where the caller can choose the id, name a new one. */
export function sessionArgs({ resume, newSessionId }: AgentRequest, flag: string, newFlag: string | null) {
  return resume ? [flag, checkedSessionId(resume)] : flagged(newFlag ?? '', newFlag && newSessionId);
}

/** The command line to resume a session in a terminal, without flags of headless runs. */
export function resumeCommand(
  { command, defaultArgs }: AgentConfig,
  flag: string,
  sessionId: string,
  headless: readonly FlagRule[],
): string[] {
  return [command, flag, checkedSessionId(sessionId), ...takeFlags(defaultArgs, headless).kept];
}

/** Permission flags. They set the agent's default access and are never passed together with a phase's own. */
export const PERMISSION_FLAGS = {
  claude: [
    switches('--dangerously-skip-permissions --allow-dangerously-skip-permissions'),
    options('--permission-mode'),
  ],
  codex: [
    switches('--dangerously-bypass-approvals-and-sandbox --yolo --full-auto'),
    options('--sandbox -s --ask-for-approval -a --approval-mode'),
    { ...options('--config -c'), when: /^\s*(?:sandbox_mode|approval_policy)\s*=/ },
  ],
  opencode: [switches('--auto --dangerously-skip-permissions')],
  gemini: [switches('--yolo -y'), options('--approval-mode --policy --admin-policy --allowed-tools')],
} satisfies Record<string, readonly FlagRule[]>;

export function permissionFlags(adapter: string): readonly FlagRule[] {
  return PERMISSION_FLAGS[adapter as keyof typeof PERMISSION_FLAGS] ?? [];
}

const FULL_FLAGS = [
  '--dangerously-skip-permissions',
  '--dangerously-bypass-approvals-and-sandbox',
  '--yolo',
  '-y',
  '--auto',
];
const LEVELS: Readonly<Record<string, Access>> = {
  bypassPermissions: 'full',
  yolo: 'full',
  plan: 'read',
  'danger-full-access': 'full',
  'read-only': 'read',
};

/** The access where the phase names none: from the agent's permission flags, else `write`. */
export function defaultAccess(agent: Pick<AgentConfig, 'adapter' | 'defaultArgs'>): Access {
  const { found } = takeFlags(agent.defaultArgs, permissionFlags(agent.adapter));
  const levels = found.map(levelOf);
  return levels.find((level) => level === 'full') ?? levels.find((level) => level !== undefined) ?? 'write';
}

function levelOf(flag: FoundFlag): Access | undefined {
  if (FULL_FLAGS.includes(flag.name)) return 'full';
  const value = flag.value?.replace(/^[^=]*=/, '').replace(/["'\s]/g, '') ?? '';
  return Object.hasOwn(LEVELS, value) ? LEVELS[value] : undefined;
}
