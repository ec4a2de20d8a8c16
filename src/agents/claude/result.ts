import type { AgentError } from '../../model/agent.ts';
import type { ErrorClass, Json } from '../../model/ticket.ts';
import { classify, errorOf } from '../reading/classify.ts';
import { asList, asNumber, asText, type JsonObject } from '../reading/json.ts';
import { resultInText } from '../reading/tagged.ts';

/** A usage limit as the provider announced it, machine-readably. */
export interface Rejection {
  resetAt: string | null;
  message: string;
}

/** The reasons that say by themselves what went wrong. */
const REASONS: Readonly<Record<string, ErrorClass>> = {
  max_turns: 'turns',
  error_max_turns: 'turns',
  budget_exhausted: 'budget',
  error_max_budget_usd: 'budget',
  aborted_tools: 'interrupted',
  aborted_streaming: 'interrupted',
  prompt_too_long: 'context',
  error_max_structured_output_retries: 'protocol',
};

/** An API failure has subtype "success" too: only the error flag and the reason count. */
export function isPositive(result: JsonObject): boolean {
  if (result.is_error !== false) return false;
  const reason = asText(result.terminal_reason);
  return reason === undefined ? result.subtype === 'success' : reason === 'completed';
}

export function resultData(result: JsonObject, wanted: boolean): Json | undefined {
  const native = result.structured_output;
  if (native !== undefined && native !== null) return native as Json;
  return wanted ? resultInText(asText(result.result) ?? '') : undefined;
}

/** Why a run failed. A limit announced by the provider is the cause unless the result names another one. */
export function claudeError(
  result: JsonObject | null,
  rejection: Rejection | null,
  now: string,
  zone?: string,
): AgentError {
  const message = messageIn(result);
  const kind =
    reasonOf(result) ?? (rejection ? 'limit' : classify(message, asNumber(result?.api_error_status) ?? null));
  if (kind === 'limit' && rejection) {
    const said = errorOf('limit', message || rejection.message, now, zone);
    return rejection.resetAt ? { ...said, resetAt: rejection.resetAt, sure: true } : said;
  }
  return errorOf(kind ?? 'crash', message || 'claude reported an error without a message.', now, zone);
}

function reasonOf(result: JsonObject | null): ErrorClass | undefined {
  for (const reason of [asText(result?.terminal_reason), asText(result?.subtype)])
    if (reason !== undefined && Object.hasOwn(REASONS, reason)) return REASONS[reason];
  return undefined;
}

function messageIn(result: JsonObject | null): string {
  if (!result) return '';
  const errors = asList(result.errors).filter((item) => typeof item === 'string');
  return (
    asText(result.result) ||
    errors.join('; ') ||
    `claude ended with ${asText(result.terminal_reason) ?? 'an error'}.`
  );
}
