import { adapterFor, capabilityProblems } from '../../agents/adapters.ts';
import type { Settings } from '../../config/table.ts';
import { type Finding, type Problem, placed } from '../../config/yaml-source.ts';
import { didYouMean } from '../../model/text/near.ts';
import type { LoadedWorkflow } from '../../workflows/load.ts';

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
