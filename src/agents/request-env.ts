import type { AgentRequest } from '../model/agent.ts';

/** Everything an attempt asks for, for agents that are told by their environment. Names are unset when unasked. */
export function requestEnv(request: AgentRequest): Record<string, string> {
  const model = request.model ?? request.agent.model;
  const env: Record<string, string> = { SIGNALBOX_ACCESS: request.access };
  if (model) env.SIGNALBOX_MODEL = model;
  if (request.effort) env.SIGNALBOX_EFFORT = request.effort;
  if (request.maxTurns !== null) env.SIGNALBOX_MAX_TURNS = String(request.maxTurns);
  if (request.allowedTools) env.SIGNALBOX_ALLOWED_TOOLS = request.allowedTools.join(',');
  if (request.schema) env.SIGNALBOX_RESULT_SCHEMA = JSON.stringify(request.schema);
  return env;
}
