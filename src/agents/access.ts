import type { Access, AgentConfig } from '../model/agent.ts';
import { type FlagRule, type FoundFlag, takeFlags } from './flags.ts';

/** Flags that say what an agent may do. They are the agent's default access, never passed beside a phase's own. */
export const PERMISSION_FLAGS: Readonly<Record<string, readonly FlagRule[]>> = {
  claude: [
    { names: ['--dangerously-skip-permissions', '--allow-dangerously-skip-permissions'], takesValue: false },
    { names: ['--permission-mode'], takesValue: true },
  ],
  codex: [
    { names: ['--dangerously-bypass-approvals-and-sandbox', '--yolo', '--full-auto'], takesValue: false },
    { names: ['--sandbox', '-s', '--ask-for-approval', '-a', '--approval-mode'], takesValue: true },
    { names: ['--config', '-c'], takesValue: true, when: /^\s*(?:sandbox_mode|approval_policy)\s*=/ },
  ],
  opencode: [{ names: ['--auto', '--dangerously-skip-permissions'], takesValue: false }],
  gemini: [
    { names: ['--yolo', '-y'], takesValue: false },
    { names: ['--approval-mode', '--policy', '--admin-policy', '--allowed-tools'], takesValue: true },
  ],
};

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
  const { found } = takeFlags(agent.defaultArgs, PERMISSION_FLAGS[agent.adapter] ?? []);
  const levels = found.map(levelOf);
  return levels.find((level) => level === 'full') ?? levels.find((level) => level !== undefined) ?? 'write';
}

function levelOf(flag: FoundFlag): Access | undefined {
  if (FULL_FLAGS.includes(flag.name)) return 'full';
  const value = flag.value?.replace(/^[^=]*=/, '').replace(/["'\s]/g, '') ?? '';
  return Object.hasOwn(LEVELS, value) ? LEVELS[value] : undefined;
}
