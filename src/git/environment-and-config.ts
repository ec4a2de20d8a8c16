import { shellQuote } from '../model/text/quote-values-for-shell.ts';

type Env = Record<string, string | undefined>;

/** Variables that would make git use another repository, index or program than the named one. */
const REMOVED_VARIABLES = [
  'GIT_DIR',
  'GIT_WORK_TREE',
  'GIT_INDEX_FILE',
  'GIT_COMMON_DIR',
  'GIT_OBJECT_DIRECTORY',
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_IMPLICIT_WORK_TREE',
  'GIT_GRAFT_FILE',
  'GIT_SHALLOW_FILE',
  'GIT_REPLACE_REF_BASE',
  'GIT_NO_REPLACE_OBJECTS',
  'GIT_QUARANTINE_PATH',
  'GIT_NAMESPACE',
  'GIT_PREFIX',
  'GIT_CONFIG',
  'GIT_CONFIG_PARAMETERS',
  'GIT_ATTR_SOURCE',
  'GIT_EXTERNAL_DIFF',
  'GIT_DIFF_OPTS',
  'GIT_LITERAL_PATHSPECS',
  'GIT_GLOB_PATHSPECS',
  'GIT_NOGLOB_PATHSPECS',
  'GIT_ICASE_PATHSPECS',
];

const EVENTS = ['post-checkout', 'post-index-change', 'reference-transaction', 'pre-auto-gc'];

/**
 * Config that overrides the shared one, which an agent can write. For filter and merge drivers, see
 * turn-off-drivers-added-by-agents.ts.
 */
const FORCED_CONFIG: ReadonlyArray<readonly [string, string]> = [
  ['core.hooksPath', '/dev/null'],
  ...EVENTS.map((event) => [`hook.${event}.enabled`, 'false'] as const),
  ['core.fsmonitor', 'false'],
  ['core.alternateRefsCommand', 'true'],
  ['core.ignoreStat', 'false'],
  ['color.ui', 'false'],
  ['commit.gpgSign', 'false'],
  ['tag.gpgSign', 'false'],
  ['log.showSignature', 'false'],
  ['submodule.recurse', 'false'],
  ['diff.ignoreSubmodules', 'dirty'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['protocol.ext.allow', 'never'],
  ['advice.detachedHead', 'false'],
];

/** The caller's environment without anything that redirects git; also what setup hooks get. */
export function cleanEnv(env: Env): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const [key, value] of Object.entries(env)) {
    if (value !== undefined && !REMOVED_VARIABLES.includes(key)) clean[key] = value;
  }
  return clean;
}

/** The environment of every git call of the engine. */
export function gitEnv(env: Env): Record<string, string> {
  const ssh = env.GIT_SSH ? shellQuote(env.GIT_SSH) : undefined;
  return withConfig(
    {
      ...cleanEnv(env),
      LC_ALL: 'C',
      GIT_TERMINAL_PROMPT: '0',
      GIT_PAGER: 'cat',
      GIT_EDITOR: ':',
      // Each of these set, even empty, makes git ignore the config key of the same purpose.
      GIT_ASKPASS: env.GIT_ASKPASS ?? '',
      GIT_PROXY_COMMAND: env.GIT_PROXY_COMMAND ?? '',
      GIT_SSH_COMMAND: env.GIT_SSH_COMMAND ?? ssh ?? 'ssh -o BatchMode=yes',
      GIT_ALLOW_PROTOCOL: env.GIT_ALLOW_PROTOCOL ?? 'file:git:http:https:ssh',
    },
    FORCED_CONFIG,
  );
}

/** Adds config that beats every config file; the caller's own GIT_CONFIG_COUNT entries stay before it. */
export function withConfig(
  env: Record<string, string>,
  entries: ReadonlyArray<readonly [string, string]>,
): Record<string, string> {
  const result = { ...env };
  let count = Number.parseInt(env.GIT_CONFIG_COUNT ?? '0', 10) || 0;
  for (const [key, value] of entries) {
    result[`GIT_CONFIG_KEY_${count}`] = key;
    result[`GIT_CONFIG_VALUE_${count}`] = value;
    count += 1;
  }
  result.GIT_CONFIG_COUNT = String(count);
  return result;
}

/**
 * The config that is listed: programs that git runs when it reads, writes or merges files (a repository may need them, as for
 * LFS), and what callers of `Git.config` use.
 */
export const CONFIG_KEYS = `^(${[
  'filter\\..*\\.(clean|smudge|process|required)',
  'merge\\..*\\.driver',
  'remote\\..*\\.(uploadpack|receivepack)',
  'include(if\\..*)?\\.path',
  'core\\.(filemode|sshcommand)',
  'remote\\.origin\\.url',
  'credential\\..*',
  '(user|author|committer)\\.(name|email)',
].join('|')})$`;

export interface ConfigEntry {
  /** Of the repository or worktree, and not of the user or the system. */
  own: boolean;
  /** Of the user or the system, and not of the environment either. */
  users: boolean;
  key: string;
  value: string;
}

/** Parses what `git config -z --show-scope --get-regexp` prints. */
export function parseConfigList(text: string): ConfigEntry[] {
  const fields = text.split('\0');
  const listed: ConfigEntry[] = [];
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const scope = fields[index];
    const [key = '', ...value] = (fields[index + 1] ?? '').split('\n');
    const own = scope === 'local' || scope === 'worktree';
    const users = scope === 'system' || scope === 'global';
    listed.push({ own, users, key, value: value.join('\n') });
  }
  return listed;
}
