/** The Node that runs launchers and agents written in JavaScript; newer than the oldest one Signalbox runs on. */
export const NODE = { package: 'node', version: '24.21.0', bin: 'node_modules/node/bin/node' };

/**
 * The versions the adapters are proven against. Pinned, because npm on an old Node picks an older release by itself.
 * `slow` ones keep a core busy for seconds before they begin, so that few of them can be proven at once.
 */
export const PINNED = {
  claude: { package: '@anthropic-ai/claude-code', version: '2.1.325', bin: 'node_modules/.bin/claude' },
  codex: { package: '@openai/codex', version: '0.166.0', bin: 'node_modules/.bin/codex' },
  opencode: { package: 'opencode-ai', version: '1.18.33', bin: 'node_modules/.bin/opencode', slow: true },
  pi: { package: '@earendil-works/pi-coding-agent', version: '0.87.1', bin: 'node_modules/.bin/pi' },
  gemini: { package: '@google/gemini-cli', version: '0.61.0', bin: 'node_modules/.bin/gemini', slow: true },
};

/** Names under which older releases were published, each up to and including a version. */
const FORMER_PACKAGES = { pi: { package: '@mariozechner/pi-coding-agent', last: '0.73.1' } };

/** What to install for `name` or, instead of the pinned version, `name@version`. */
export function releaseOf(asked) {
  const [name, version = PINNED[name]?.version] = asked.split('@');
  const former = FORMER_PACKAGES[name];
  const isFormer = former && former.last.localeCompare(version, 'en', { numeric: true }) >= 0;
  return { ...PINNED[name], ...(isFormer && { package: former.package }), name, version };
}
