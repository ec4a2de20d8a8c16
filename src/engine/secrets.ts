import type { Settings } from '../config/index.ts';
import { type Redact, redactor, secretValues } from '../model/redact.ts';

/** Hides the secrets of an environment and of what the settings give to agents and servers. */
export function redactorOf(
  { agents, mcpServers }: Pick<Settings, 'agents' | 'mcpServers'>,
  env: Readonly<Record<string, string | undefined>>,
): Redact {
  const given = [...Object.values(agents), ...Object.values(mcpServers)].map((each) => each.env);
  return redactor(secretValues(env, given));
}
