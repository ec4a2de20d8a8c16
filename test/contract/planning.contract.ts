import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { WITH_SERVERS } from '../../src/agents/adapters-and-agent-problems.ts';
import { commandOf } from '../../tools/agents/install.mjs';
import { waitFor } from '../support/wait-for.ts';
import { type Bench, it, releaseFor, SELECTED, withModelServer } from './bench.ts';
import type { Cli } from './clis.ts';

withModelServer();

const CLI = new URL('../../dist/cli.cjs', import.meta.url).pathname;
const SECRET = 'tracker-secret-0123456789';

/** An MCP server with one tool, which only starts with its key. */
const TRACKER = `
const { createInterface } = require('node:readline');
if (process.env.TRACKER_TOKEN !== '${SECRET}') process.exit(1);
const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize')
    say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'tracker', version: '1' } });
  else if (method === 'tools/list')
    say(id, { tools: [{ name: 'list_items', description: 'Lists items', inputSchema: { type: 'object', properties: {} } }] });
  else if (id !== undefined) say(id, {});
});
`;

/** A terminal of its own in which a command runs. */
class Terminal {
  readonly #socket: string;
  readonly #bench: Bench;

  constructor(bench: Bench, line: string) {
    this.#bench = bench;
    this.#socket = join(bench.dir, 'tmux');
    this.tmux('new-session', '-d', '-s', 'plan', '-x', '150', '-y', '50', '-c', bench.repo, line);
    this.tmux('set-option', '-t', 'plan', 'remain-on-exit', 'on');
  }

  tmux(...args: string[]): string {
    const { env } = this.#bench;
    const all = ['-u', '-S', this.#socket, '-f', '/dev/null', ...args];
    return execFileSync('tmux', all, { env: { ...env, TERM: 'xterm-256color' }, encoding: 'utf8' });
  }

  get text(): string {
    return this.tmux('capture-pane', '-p', '-J', '-t', 'plan');
  }

  get dead(): boolean {
    return this.tmux('list-panes', '-t', 'plan', '-F', '#{pane_dead}').trim() === '1';
  }

  async shows(what: RegExp): Promise<void> {
    await waitFor(`${what} on the screen`, () => what.test(this.text), {
      timeoutMs: 60_000,
      state: () => this.text,
    });
  }

  keys(...keys: string[]): void {
    this.tmux('send-keys', '-t', 'plan', ...keys);
  }

  close(): void {
    this.tmux('kill-server');
  }
}

/** What a first start would ask, answered. */
function settle(cli: Cli, bench: Bench): void {
  const home = join(bench.dir, 'user');
  if (cli.name === 'claude') {
    const projects = { [bench.repo]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } };
    const state = { hasCompletedOnboarding: true, theme: 'dark', projects };
    writeFileSync(join(home, '.claude.json'), JSON.stringify(state));
  }
  if (cli.name === 'codex')
    writeFileSync(
      join(home, '.codex', 'config.toml'),
      `[projects."${bench.repo}"]\ntrust_level = "trusted"\n`,
    );
  if (cli.name === 'gemini')
    writeFileSync(
      join(home, '.gemini', 'trustedFolders.json'),
      JSON.stringify({ [bench.repo]: 'TRUST_FOLDER' }),
    );
}

const READY: Record<string, RegExp> = {
  pi: /escape|ctrl\+|\$0|%\/|stub|one/i,
  claude: /❯|>|shortcuts/,
  codex: /›|⏎|send/,
  opencode: /Ask anything|ctrl\+p|tab/i,
  gemini: /Type your message/,
};

// Its calls of tmux block the model server in this process, so one at a time.
describe.sequential.each(SELECTED)('$name', (cli) => {
  it('plans in its own terminal with our prompt, skills and servers', async ({ bench }) => {
    bench.prepare(cli, [{ say: 'Which repository do you mean?' }]);
    settle(cli, bench);
    const skill = join(bench.home, 'skills', 'house-style');
    mkdirSync(skill, { recursive: true });
    writeFileSync(
      join(skill, 'SKILL.md'),
      '---\nname: house-style\ndescription: How this house names tickets.\n---\n',
    );
    writeFileSync(join(bench.dir, 'tracker.cjs'), TRACKER);
    bench.config({
      mcpServers: {
        tracker: {
          command: process.execPath,
          args: [join(bench.dir, 'tracker.cjs')],
          env: { TRACKER_TOKEN: SECRET },
        },
      },
    });
    expect(existsSync(commandOf(releaseFor(cli.name)))).toBe(true);
    const terminal = new Terminal(bench, `'${process.execPath}' '${CLI}' interactive --agent ${cli.name}`);
    try {
      await terminal.shows(READY[cli.name] ?? /./);
      const [session = ''] = readdirSync(join(bench.home, 'planner'));
      const dir = join(bench.home, 'planner', session);
      expect(statSync(dir).mode & 0o777).toBe(0o700);
      // Servers may come up after the first question.
      const wanted = [
        'You are a planner',
        'house-style',
        ...(WITH_SERVERS.includes(cli.name) ? ['list_items'] : []),
      ];
      const has = (text: string) => bench.requests.some(({ body }) => JSON.stringify(body).includes(text));
      let said = Number.NEGATIVE_INFINITY;
      let turn = 0;
      await waitFor(
        wanted.join(', '),
        () => {
          // A screen that shows may not listen yet, and Enter right behind a text is taken for a part of it.
          if (performance.now() - said > 700) {
            terminal.keys(turn++ % 2 === 0 ? 'Enter' : 'hello');
            said = performance.now();
          }
          return wanted.every(has);
        },
        { timeoutMs: 60_000, state: () => terminal.text },
      );
      await terminal.shows(/Which repository do you mean/);
      expect(execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })).not.toContain(SECRET);
      await waitFor(
        'its end',
        () => {
          if (!terminal.dead) terminal.keys('C-c');
          return terminal.dead;
        },
        { timeoutMs: 30_000, state: () => terminal.text },
      );
      expect(readdirSync(join(bench.home, 'planner'))).toEqual([]);
    } finally {
      terminal.close();
    }
  }, 180_000);
});
