import type {
  AgentAdapter,
  AgentError,
  AgentEvent,
  AgentRequest,
  Invocation,
} from '../model/agent-and-adapter-types.ts';
import { can } from '../model/agent-and-adapter-types.ts';
import { asString, type JsonObject } from '../model/text/values-of-unknown-type.ts';
import { ERROR_CLASSES, type Json } from '../model/ticket.ts';
import { flagged, sessionArgs } from './command-flags.ts';
import { requestEnv } from './directories-and-variables-of-clis.ts';
import type { Exit } from './reading/classify-errors.ts';
import { fingerprintOf, isoOf, StreamReader, shortLine, toolEnd, usageOf } from './reading/stream-reader.ts';

const SCHEMA_FILE = 'schema.json';

/** The built-in agent that plays a scripted scenario. It prints one JSON object per line. */
export const rehearsal: AgentAdapter = {
  name: 'rehearsal',
  program: null,
  capabilities: can('native', 'resume', 'model', 'effort', 'maxTurns', 'allowedTools'),
  invocation,
  reader: (context) => new RehearsalReader('the rehearsal agent', context),
  interactive: () => null,
};

function invocation(request: AgentRequest): Invocation {
  const { agent } = request;
  const argv = [agent.command, ...agent.defaultArgs];
  argv.push(...sessionArgs(request, '--resume', '--session'), '--access', request.access);
  argv.push(...flagged('--model', request.model));
  const files: Record<string, string> = {};
  if (request.schema) {
    argv.push('--schema', `{job}/${SCHEMA_FILE}`);
    files[SCHEMA_FILE] = `${JSON.stringify(request.schema, null, 2)}\n`;
  }
  return { argv, env: { ...requestEnv(request), ...agent.env }, stdin: request.prompt, files };
}

class RehearsalReader extends StreamReader {
  #done: JsonObject | null = null;
  #error: AgentError | null = null;

  protected read(event: JsonObject): AgentEvent[] {
    switch (event.type) {
      case 'session':
        return this.session(event.id);
      case 'text': {
        const text = asString(event.text);
        return text === undefined ? [] : this.message(text);
      }
      case 'tool': {
        const tool = {
          name: asString(event.name) ?? 'tool',
          summary: shortLine(asString(event.summary) ?? ''),
        };
        if (event.done !== true) return [{ type: 'tool', ...tool, done: false }];
        return [
          {
            ...{ type: 'tool', ...tool, done: true, fingerprint: fingerprintOf(tool) },
            ...toolEnd({ failed: event.failed === true }),
          },
        ];
      }
      case 'usage':
        return this.used(
          usageOf({
            input: event.inputTokens,
            output: event.outputTokens,
            cacheRead: event.cacheReadTokens,
            cacheWrite: event.cacheWriteTokens,
            cost: event.costUsd,
          }),
        );
      case 'limit': {
        const message = asString(event.message) ?? 'The usage limit is reached.';
        const resetAt = isoOf(event.resetAt);
        const limit = { message, resetAt, sure: resetAt !== null };
        this.#error = { class: 'limit', ...limit };
        return [{ type: 'limit', ...limit }];
      }
      case 'result':
        this.#done = event;
        return [];
      case 'error': {
        const kind = ERROR_CLASSES.find((name) => name === event.class) ?? 'crash';
        this.#error = this.error(kind, asString(event.message) ?? 'The rehearsal agent failed.');
        return [];
      }
      default:
        return [];
    }
  }

  protected failure(exit: Exit): AgentError | null {
    return this.#error ?? (this.#done ? null : this.unfinished(exit));
  }

  protected override finalText(ok: boolean): string {
    return (ok ? asString(this.#done?.text) : undefined) ?? this.text;
  }

  protected override data(): Json | undefined {
    return this.#done?.data as Json | undefined;
  }
}
