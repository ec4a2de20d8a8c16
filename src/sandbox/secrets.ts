import type { Settings } from '../config/table.ts';
import { type Redact, redactor, secretValues } from '../model/text/redact.ts';
import { Fingerprints, fingerprintRedactor } from './secret-fingerprints.ts';

type Given = Pick<Settings, 'agents' | 'mcpServers'>;
type Environment = Readonly<Record<string, string | undefined>>;

/** Hides the secrets of an environment and of what the settings give to agents and servers. */
export function redactorOf(settings: Given, env: Environment): Redact {
  return redactor(secretsOf(settings, env));
}

/** The same for a process that reads the output of jobs and was not given their secrets. */
export function readerRedactor(settings: Given, env: Environment, file: string): Redact {
  const own = redactorOf(settings, env);
  const others = fingerprintRedactor(file);
  return (text) => own(others(text));
}

/** Called before a job is started: its secrets must be recognised in what it prints. */
export function secretKeeper(settings: Given, env: Environment, file: string): () => void {
  let keeper: Fingerprints | undefined;
  return () => {
    keeper ??= new Fingerprints(file, secretsOf(settings, env));
    keeper.keep();
  };
}

function secretsOf({ agents, mcpServers }: Given, env: Environment): string[] {
  const given = [...Object.values(agents), ...Object.values(mcpServers)].map((each) => each.env);
  return secretValues(env, given);
}
