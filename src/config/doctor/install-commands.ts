/** How each CLI is installed, by adapter. */
export const INSTALL_COMMANDS: Readonly<Record<string, string>> = {
  pi: 'npm install -g @mariozechner/pi-coding-agent',
  claude: 'npm install -g @anthropic-ai/claude-code',
  codex: 'npm install -g @openai/codex',
  opencode: 'npm install -g opencode-ai',
  gemini: 'npm install -g @google/gemini-cli',
};
