import type { Settings } from '../config/settings.ts';
import { type Redact, redactor, secretValues } from '../model/text/redact.ts';
import { Fingerprints, fingerprintRedactor } from '../sandbox/secret-fingerprints.ts';
import type { EngineContext } from './context.ts';

/** Hides the secrets of an environment and of what the settings give to agents and servers. */
export function redactorOf(
  { agents, mcpServers }: Pick<Settings, 'agents' | 'mcpServers'>,
  env: Readonly<Record<string, string | undefined>>,
): Redact {
  return redactor(secretValues(env, given(agents, mcpServers)));
}

/** The same for whoever reads what jobs printed, and was not given what they were. */
export function readerRedactor(
  settings: Pick<Settings, 'agents' | 'mcpServers'>,
  env: Readonly<Record<string, string | undefined>>,
  file: string,
): Redact {
  const own = redactorOf(settings, env);
  const others = fingerprintRedactor(file);
  return (text) => own(others(text));
}

const keepers = new WeakMap<EngineContext, Fingerprints>();

/** Before a job is started: what it is given must be known again in what it prints. */
export function rememberSecrets(parts: EngineContext): void {
  const { agents, mcpServers } = parts.settings;
  const keeper =
    keepers.get(parts) ??
    new Fingerprints(parts.machine.fingerprints, secretValues(parts.env, given(agents, mcpServers)));
  keepers.set(parts, keeper);
  keeper.keep();
}

function given(agents: Settings['agents'], mcpServers: Settings['mcpServers']): Record<string, string>[] {
  return [...Object.values(agents), ...Object.values(mcpServers)].map((each) => each.env);
}
