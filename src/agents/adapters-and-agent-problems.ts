import { type Finding, type Problem, placed } from '../config/parse-yaml-and-place-problems.ts';
import type { Settings } from '../config/settings-table.ts';
import type { AgentAdapter } from '../model/agent-and-adapter-types.ts';
import { InputError } from '../model/errors.ts';
import { didYouMean } from '../model/text/nearest-word.ts';
import type { PhaseOf } from '../model/workflow.ts';
import type { LoadedWorkflow } from '../workflows/load-and-list-workflows.ts';
import { claude, planClaude, READ_DENIES } from './claude.ts';
import { codex, planCodex } from './codex.ts';
import { custom } from './custom.ts';
import { gemini, planGemini } from './gemini.ts';
import { opencode, planOpencode } from './opencode.ts';
import { pi, planPi } from './pi.ts';
import type { Launcher } from './planner-launch-and-masked-arguments.ts';
import { rehearsal } from './rehearsal.ts';

export const ADAPTERS: Readonly<Record<string, AgentAdapter>> = {
  claude,
  codex,
  opencode,
  pi,
  gemini,
  rehearsal,
  custom,
};

/** CLIs for planning sessions. The first installed one is the default. */
export const LAUNCHERS: Readonly<Record<string, Launcher>> = {
  pi: planPi,
  claude: planClaude,
  codex: planCodex,
  opencode: planOpencode,
  gemini: planGemini,
};

/** CLIs that accept MCP servers for one session. */
export const WITH_SERVERS: readonly string[] = ['claude', 'codex', 'opencode'];

export function adapterFor(name: string): AgentAdapter {
  const adapter = Object.hasOwn(ADAPTERS, name) ? ADAPTERS[name] : undefined;
  if (adapter) return adapter;
  throw new InputError('agent/unknown-adapter', `There is no adapter ${JSON.stringify(name)}.`, {
    hint: `Use one of: ${Object.keys(ADAPTERS).join(', ')}.`,
    details: { known: Object.keys(ADAPTERS) },
  });
}

const UNSUPPORTED = [
  ['model', 'cannot choose a model.'],
  ['effort', 'cannot set the effort.'],
  ['maxTurns', 'cannot count turns; use timeoutSeconds.'],
  ['allowedTools', 'knows no tool list; use access.'],
] as const;

/** One sentence for every field of a phase that this adapter does not support. */
export function capabilityProblems(adapter: AgentAdapter, phase: PhaseOf<'agent'>): string[] {
  const can = adapter.capabilities;
  const problems = UNSUPPORTED.filter(([field]) => phase[field] !== undefined && !can[field]).map(
    ([field, why]) => `${field}: the ${adapter.name} adapter ${why}`,
  );
  const refuse = (field: string, why: string) => problems.push(`${field}: ${why}`);
  if (phase.access && adapter.access && !adapter.access.includes(phase.access))
    refuse('access', `the ${adapter.name} adapter cannot enforce "${phase.access}".`);
  if (phase.session === 'continue' && !can.resume)
    refuse('session', `the ${adapter.name} adapter cannot continue a session; use "fresh".`);
  if (adapter.name === 'claude' && phase.access === 'read')
    for (const tool of phase.allowedTools ?? [])
      if (READ_DENIES.some((denied) => tool === denied || tool.startsWith(`${denied}(`)))
        refuse('allowedTools', `"${tool}" is refused by access "read"; use access "write".`);
  return problems;
}

/** Problems of agents that phases name themselves; `plan check` reports those of tickets and plans. */
export function agentProblems(loaded: LoadedWorkflow, agents: Settings['agents']): Problem[] {
  const findings = loaded.phases.flatMap((phase, index): Finding[] => {
    if (phase?.type !== 'agent' || phase.agent === undefined) return [];
    const name = phase.agent;
    const agent = Object.hasOwn(agents, name) ? agents[name] : undefined;
    const path = ['phases', index, 'agent'];
    if (!agent) {
      const known = Object.keys(agents);
      const message = `Agent "${name}" is not configured.${didYouMean(name, known)}`;
      return [{ path, message, hint: `Configured: ${known.join(', ')}.` }];
    }
    const problems = capabilityProblems(adapterFor(agent.adapter), phase);
    return problems.map((problem) => ({ path, message: `Agent "${name}": ${problem}` }));
  });
  return placed(loaded, findings);
}
