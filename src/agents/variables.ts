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
