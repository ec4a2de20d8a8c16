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

/** Where each CLI keeps its login, sessions and settings: below the home directory, or where a variable says. */
const PLACES: Readonly<Record<string, { home: readonly string[]; env: readonly string[] }>> = {
  claude: { home: ['.claude', '.claude.json'], env: ['CLAUDE_CONFIG_DIR'] },
  codex: { home: ['.codex'], env: ['CODEX_HOME'] },
  opencode: {
    home: ['.local/share/opencode', '.config/opencode', '.cache/opencode'],
    env: ['XDG_DATA_HOME'],
  },
  pi: { home: ['.pi'], env: ['PI_CODING_AGENT_DIR'] },
  gemini: { home: ['.gemini'], env: ['GEMINI_CLI_HOME'] },
};

/** Files and directories that a CLI has to write to, relative ones to the home directory. */
export function ownPlaces(adapter: string, env: Readonly<Record<string, string>>): string[] {
  const places = Object.hasOwn(PLACES, adapter) ? PLACES[adapter] : undefined;
  return [...(places?.home ?? []), ...(places?.env ?? []).flatMap((name) => env[name] ?? [])];
}
