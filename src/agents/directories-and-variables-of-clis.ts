import type { AgentRequest } from '../model/agent-and-adapter-types.ts';

/** A file of the user's that a sandboxed CLI gets a copy of. */
export interface Seed {
  name: string;
  /** Where it is, seen from the directory, unless a variable moved that. */
  from?: string;
  /** Its copy may be newer: a CLI renews its login itself. */
  login?: boolean;
  /** Keys of the JSON that are left out: they are about other projects. */
  without?: readonly string[];
}

/** A directory in which a CLI keeps login, settings and sessions. */
interface OwnDirectory {
  /** Below the home directory. */
  at: string;
  /** The variable that names another place, and where below its value the directory is. */
  moved: readonly [name: string, below: string];
  seeds: readonly Seed[];
  /** Directories of the user's that it may read. */
  shown: readonly string[];
}

const named = (...names: string[]): Seed[] => names.map((name) => ({ name }));
const login = (name: string): Seed => ({ name, login: true });

const DIRECTORIES: Readonly<Record<string, readonly OwnDirectory[]>> = {
  claude: [
    {
      at: '.claude',
      moved: ['CLAUDE_CONFIG_DIR', ''],
      seeds: [
        login('.credentials.json'),
        { name: '.claude.json', from: '../.claude.json', without: ['projects', 'history'] },
        ...named('settings.json', 'CLAUDE.md'),
      ],
      shown: ['agents', 'commands', 'skills', 'plugins', 'output-styles', 'rules', 'hooks'],
    },
  ],
  codex: [
    {
      at: '.codex',
      moved: ['CODEX_HOME', ''],
      seeds: [login('auth.json'), ...named('config.toml', 'AGENTS.md', 'AGENTS.override.md', 'hooks.json')],
      shown: ['prompts', 'skills', 'rules', 'agents'],
    },
  ],
  opencode: [
    {
      at: '.local/share/opencode',
      moved: ['XDG_DATA_HOME', 'opencode'],
      seeds: [login('auth.json'), login('mcp-auth.json')],
      shown: ['bin'],
    },
    {
      at: '.config/opencode',
      moved: ['XDG_CONFIG_HOME', 'opencode'],
      seeds: named('opencode.json', 'opencode.jsonc', 'config.json', 'AGENTS.md', 'package.json'),
      shown: [
        ...['agent', 'agents', 'command', 'commands', 'mode', 'modes', 'plugin', 'plugins'],
        ...['skill', 'skills', 'tool', 'tools', 'themes', 'node_modules'],
      ],
    },
    {
      at: '.cache/opencode',
      moved: ['XDG_CACHE_HOME', 'opencode'],
      seeds: named('models.json', 'version'),
      shown: ['bin', 'node_modules'],
    },
    { at: '.local/state/opencode', moved: ['XDG_STATE_HOME', 'opencode'], seeds: [], shown: [] },
  ],
  pi: [
    {
      at: '.pi/agent',
      moved: ['PI_CODING_AGENT_DIR', ''],
      seeds: [
        login('auth.json'),
        ...named('models.json', 'settings.json', 'AGENTS.md', 'SYSTEM.md', 'APPEND_SYSTEM.md'),
      ],
      shown: ['extensions', 'skills', 'prompts', 'themes', 'tools', 'bin', 'git', 'npm'],
    },
  ],
  gemini: [
    {
      at: '.gemini',
      moved: ['GEMINI_CLI_HOME', '.gemini'],
      seeds: [
        login('oauth_creds.json'),
        ...named('settings.json', 'google_accounts.json', 'installation_id', 'GEMINI.md', '.env'),
      ],
      shown: ['extensions', 'commands', 'policies', 'skills', 'agents'],
    },
  ],
};

/** The directories that a CLI has of its own. In a sandbox it gets them per ticket and cannot write to the user's. */
export function ownDirectories(adapter: string): readonly OwnDirectory[] {
  return (Object.hasOwn(DIRECTORIES, adapter) ? DIRECTORIES[adapter] : undefined) ?? [];
}

/** Variables from which each CLI reads keys and settings, by name or pattern. Its agents get them and no other's. */
const OWN: Readonly<Record<string, readonly string[]>> = {
  claude: ['ANTHROPIC_*', 'CLAUDE_*', 'DISABLE_*', 'MAX_THINKING_TOKENS', 'API_TIMEOUT_MS', 'BASH_*'],
  codex: ['OPENAI_*', 'CODEX_*', 'AZURE_OPENAI_*'],
  opencode: ['OPENCODE_*', 'ANTHROPIC_*', 'OPENAI_*', 'GEMINI_*', 'GOOGLE_GENERATIVE_AI_*', 'OPENROUTER_*'],
  pi: ['PI_*', 'ANTHROPIC_*', 'OPENAI_*', 'GEMINI_*', 'GROQ_*', 'MISTRAL_*', 'OPENROUTER_*', 'XAI_*'],
  gemini: ['GEMINI_*', 'GOOGLE_*'],
};

export function ownVariables(adapter: string): readonly string[] {
  return (Object.hasOwn(OWN, adapter) ? OWN[adapter] : undefined) ?? [];
}

/** The request as environment variables. What was not requested has no variable. */
export function requestEnv(request: AgentRequest): Record<string, string> {
  const env: Record<string, string> = { SIGNALBOX_ACCESS: request.access };
  if (request.model) env.SIGNALBOX_MODEL = request.model;
  if (request.effort) env.SIGNALBOX_EFFORT = request.effort;
  if (request.maxTurns !== null) env.SIGNALBOX_MAX_TURNS = String(request.maxTurns);
  if (request.allowedTools) env.SIGNALBOX_ALLOWED_TOOLS = request.allowedTools.join(',');
  if (request.schema) env.SIGNALBOX_RESULT_SCHEMA = JSON.stringify(request.schema);
  return env;
}
