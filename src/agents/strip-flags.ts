import type { Access, AgentConfig } from '../model/agent.ts';
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

/** Splits arguments into those no rule names and the flags that were found, in all their spellings. */
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

/** The command line to continue a session in a terminal, without flags of headless runs. */
export function resumeCommand(
  { command, defaultArgs }: AgentConfig,
  flag: string,
  sessionId: string,
  headless: readonly FlagRule[],
): string[] {
  return [command, flag, checkedSessionId(sessionId), ...takeFlags(defaultArgs, headless).kept];
}

/** Flags that say what an agent may do. They are the agent's default access, never passed beside a phase's own. */
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

/** What an agent may do where neither phase nor settings say so: by its permission flags, else `write`. */
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
