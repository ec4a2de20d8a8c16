/** A file of the user's that a sandboxed CLI gets a copy of. */
export interface Seed {
  name: string;
  /** Where it is, seen from the directory, unless a variable moved that. */
  from?: string;
  /** Its copy may be newer: a CLI renews its login itself. */
  login?: boolean;
  /** Keys of the JSON that are other work's. */
  without?: readonly string[];
}

/** A directory in which a CLI keeps login, settings and sessions. */
interface OwnDirectory {
  /** Below the home directory. */
  at: string;
  /** The variable that says otherwise, and where below its value. */
  moved: readonly [name: string, below: string];
  seeds: readonly Seed[];
  /** Directories of the user's that it may read. */
  shown: readonly string[];
}

interface OwnPlaces {
  directories: readonly OwnDirectory[];
  /** Variables that say where they are inside the sandbox, relative to the home directory. */
  env: Readonly<Record<string, string>>;
}

const named = (...names: string[]): Seed[] => names.map((name) => ({ name }));
const login = (name: string): Seed => ({ name, login: true });

const PLACES: Readonly<Record<string, OwnPlaces>> = {
  claude: {
    directories: [
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
    env: { CLAUDE_CONFIG_DIR: '.claude' },
  },
  codex: {
    directories: [
      {
        at: '.codex',
        moved: ['CODEX_HOME', ''],
        seeds: [login('auth.json'), ...named('config.toml', 'AGENTS.md', 'AGENTS.override.md', 'hooks.json')],
        shown: ['prompts', 'skills', 'rules', 'agents'],
      },
    ],
    env: { CODEX_HOME: '.codex' },
  },
  opencode: {
    directories: [
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
    env: {
      XDG_DATA_HOME: '.local/share',
      XDG_CONFIG_HOME: '.config',
      XDG_CACHE_HOME: '.cache',
      XDG_STATE_HOME: '.local/state',
    },
  },
  pi: {
    directories: [
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
    env: { PI_CODING_AGENT_DIR: '.pi/agent' },
  },
  gemini: {
    directories: [
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
    env: { GEMINI_CLI_HOME: '' },
  },
};

const NONE: OwnPlaces = { directories: [], env: {} };

/** What a CLI keeps of its own. In a sandbox it has these directories by ticket, and nothing of the user's to write to. */
export function ownPlaces(adapter: string): OwnPlaces {
  return (Object.hasOwn(PLACES, adapter) ? PLACES[adapter] : undefined) ?? NONE;
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
