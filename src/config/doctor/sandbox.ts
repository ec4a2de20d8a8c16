import { findExecutable, probe } from '../../machine/probe.ts';
import type { Finding } from './places.ts';
import type { ProgramOptions } from './programs.ts';

/** Whether agents that are to run in a sandbox can; nothing when there are none. */
export async function sandboxFindings({ settings, env, timeoutMs }: ProgramOptions): Promise<Finding[]> {
  const names = Object.values(settings.agents).flatMap(({ name, sandbox }) =>
    sandbox === 'bwrap' ? [name] : [],
  );
  if (names.length === 0) return [];
  const what = 'sandbox';
  const bad = (detail: string, fix: string): Finding[] => [{ level: 'bad', what, detail, fix }];
  const instead = `or take "sandbox" out of agents.${names.join(', agents.')}`;
  if (process.platform !== 'linux') return bad('bwrap is for Linux alone', `Run them on Linux, ${instead}.`);
  const file = findExecutable('bwrap', env);
  if (!file)
    return bad('bwrap not found on PATH', `Install bubblewrap (apt install bubblewrap), ${instead}.`);
  const tried = await probe(file, ['--ro-bind', '/', '/', '--unshare-pid', 'true'], env, timeoutMs);
  if (tried.ok) return [{ level: 'ok', what, detail: `${file} for ${names.join(', ')}`, fix: null }];
  return bad(
    `${file} ${tried.reason}`,
    `Allow user namespaces (sysctl kernel.unprivileged_userns_clone=1), ${instead}.`,
  );
}
