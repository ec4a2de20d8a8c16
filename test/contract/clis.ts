import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { AgentEntry } from '../../src/config/resolve-agents.ts';
import type { Tokens } from '../support/model-server/index.ts';

/** Shaped like a key, good for nothing. */
const KEY = 'sk-fake-0123456789abcdef0123456789abcdef';

/** One CLI under the contract: how it is pointed at the model server, and what it can and cannot do. */
export interface Cli {
  name: string;
  /** Writes what the CLI needs into its home and gives the rest as the settings of the agent. */
  setup(home: string, base: string): AgentEntry;
  /** Two models: as the settings name them, and as the server sees them. */
  models: [asked: string, seen: string][];
  /** What the server sees of effort `high`; null when the adapter refuses it. */
  effort: string | null;
  maxTurns: boolean;
  /** Dollars of so many tokens; null when the CLI tells none, `own` when it has a price list of its own. */
  cost: ((tokens: Tokens) => number) | 'own' | null;
  /** Tells of what it used after every model call, not only at the end of a turn. */
  reportsCalls: boolean;
  /** Tries again by itself, so that one overload never reaches the engine. */
  retriesItself: boolean;
  /** Keeps a shell for commands that read when it may only read. */
  readsByShell: boolean;
  /** Makes room by itself when the context is full. */
  compacts: boolean;
  /** Seconds of silence that are more than its start takes on a busy machine. */
  quiet: number;
}

const json = (file: string, value: unknown) => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(value));
};
const perMillion = ({ input, output }: Tokens) => (input * 1 + output * 2) / 1e6;
const offlineModel = (name: string) => ({ name, reasoning: true });

export const CLIS: readonly Cli[] = [
  {
    name: 'claude',
    // A subscription's token, because only those are told when a limit ends.
    setup: (_home, base) => ({
      env: { ANTHROPIC_BASE_URL: base, CLAUDE_CODE_OAUTH_TOKEN: `sk-ant-oat01-${KEY}` },
    }),
    models: [
      ['sonnet', 'claude-sonnet'],
      ['haiku', 'claude-haiku'],
    ],
    effort: 'high',
    maxTurns: true,
    cost: 'own',
    reportsCalls: true,
    retriesItself: false,
    readsByShell: true,
    compacts: true,
    quiet: 10,
  },
  {
    name: 'codex',
    setup: (home, base) => {
      mkdirSync(join(home, '.codex'), { recursive: true });
      const provider = `{name="here",base_url="${base}/v1",env_key="FAKE_KEY",wire_api="responses",request_max_retries=0,stream_max_retries=0}`;
      return {
        env: { FAKE_KEY: KEY },
        model: 'gpt-5.1-codex',
        defaultArgs: ['-c', 'model_provider="here"', '-c', `model_providers.here=${provider}`],
      };
    },
    models: [
      ['gpt-5.1-codex', 'gpt-5.1-codex'],
      ['gpt-5.1', 'gpt-5.1'],
    ],
    effort: 'high',
    maxTurns: false,
    cost: null,
    reportsCalls: false,
    retriesItself: false,
    readsByShell: true,
    compacts: false,
    quiet: 10,
  },
  {
    name: 'opencode',
    setup: (_home, base) => ({
      model: 'here/one',
      env: {
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_CONFIG_CONTENT: JSON.stringify({
          share: 'disabled',
          small_model: 'here/one',
          provider: {
            here: {
              npm: '@ai-sdk/openai-compatible',
              name: 'Here',
              options: { baseURL: `${base}/v1`, apiKey: KEY },
              models: {
                one: { ...offlineModel('One'), ...OPENCODE_MODEL },
                two: { ...offlineModel('Two'), ...OPENCODE_MODEL },
              },
            },
          },
        }),
      },
    }),
    models: [
      ['here/one', 'one'],
      ['here/two', 'two'],
    ],
    effort: 'high',
    maxTurns: false,
    cost: perMillion,
    reportsCalls: true,
    retriesItself: true,
    readsByShell: false,
    compacts: true,
    quiet: 30,
  },
  {
    name: 'pi',
    setup: (home, base) => {
      const cost = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 };
      const model = { input: ['text'], cost, contextWindow: 400_000, maxTokens: 8192 };
      const models = ['one', 'two'].map((id) => ({ id, ...offlineModel(id), ...model }));
      const here = { baseUrl: `${base}/v1`, api: 'openai-completions', apiKey: KEY, models };
      json(join(home, '.pi', 'agent', 'models.json'), { providers: { here } });
      return { model: 'here/one', env: { PI_OFFLINE: '1' } };
    },
    models: [
      ['here/one', 'one'],
      ['here/two', 'two'],
    ],
    effort: 'high',
    maxTurns: true,
    cost: perMillion,
    reportsCalls: true,
    retriesItself: true,
    readsByShell: false,
    compacts: false,
    quiet: 10,
  },
  {
    name: 'gemini',
    setup: (home, base) => {
      json(join(home, '.gemini', 'settings.json'), {
        security: { auth: { selectedType: 'gemini-api-key' } },
        telemetry: { enabled: false },
      });
      return { model: 'gemini-2.5-flash', env: { GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: base } };
    },
    models: [
      ['gemini-2.5-flash', 'gemini-2.5-flash'],
      ['gemini-2.5-pro', 'gemini-2.5-pro'],
    ],
    effort: null,
    maxTurns: false,
    cost: null,
    reportsCalls: false,
    retriesItself: true,
    readsByShell: false,
    compacts: false,
    quiet: 15,
  },
];

const OPENCODE_MODEL = { limit: { context: 400_000, output: 8192 }, cost: { input: 1, output: 2 } };
