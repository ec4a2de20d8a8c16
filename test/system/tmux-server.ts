import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openTmuxView, type TmuxView, type TmuxViewOptions } from '../../src/report/tmux/tmux-view.ts';
import { it as base, waitFor } from '../support/index.ts';
import { within } from '../support/within.ts';
import type { World } from '../support/world.ts';

export const CLI = [process.execPath, new URL('../../dist/cli.cjs', import.meta.url).pathname];

let servers = 0;

interface Pane {
  pane: string;
  window: string;
  dead: boolean;
  name: string;
}

/** A tmux server of the test's own, in the test's own directory. */
export class TmuxServer {
  readonly name = `signalbox-test-${process.pid}-${++servers}`;
  readonly world: World;
  readonly problems: string[] = [];

  constructor(world: World) {
    this.world = world;
  }

  get env(): Record<string, string> {
    const { HOME = '', PATH = '', SIGNALBOX_HOME = '' } = this.world.env;
    return { HOME, PATH, SIGNALBOX_HOME, TMUX_TMPDIR: this.world.dir, LANG: 'C.UTF-8' };
  }

  tmux(...args: string[]): string {
    const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];
    const all = ['-u', '-L', this.name, '-f', '/dev/null', ...args];
    return execFileSync('tmux', all, { env: this.env, encoding: 'utf8', stdio }).trimEnd();
  }

  /** Whether a command of tmux succeeds. */
  can(...args: string[]): boolean {
    try {
      this.tmux(...args);
      return true;
    } catch {
      return false;
    }
  }

  kill(): void {
    this.can('kill-server');
  }

  /** A view on this server; what it tells is in `problems`. */
  view(more: Partial<TmuxViewOptions> = {}): TmuxView {
    return openTmuxView({
      session: 'run',
      stateDir: this.world.stateDir,
      cwd: this.world.dir,
      env: this.env,
      cli: CLI,
      socketName: this.name,
      onProblem: (message) => this.problems.push(message),
      timeoutMs: within(10_000),
      ...more,
    });
  }

  /** All panes of a session, in the order of their windows. */
  panes(session = 'run'): Pane[] {
    const format = '#{pane_id} #{window_id} #{pane_dead} #{window_name}';
    const lines = this.tmux('list-panes', '-s', '-t', `=${session}:`, '-F', format).split('\n');
    return lines
      .map((line) => line.split(' '))
      .map(([pane = '', window = '', dead, ...name]) => ({
        pane,
        window,
        dead: dead === '1',
        name: name.join(' '),
      }));
  }

  names(session = 'run'): string[] {
    return this.panes(session).map(({ name }) => name);
  }

  paneOf(ticketId: string, session = 'run'): Pane {
    const pane = this.panes(session).find(({ name }) => name === `task-${ticketId}`);
    if (!pane) throw new Error(`no window of ${ticketId} among ${this.names(session).join(', ')}`);
    return pane;
  }

  /** Everything a pane shows and has shown. */
  text(pane: string): string {
    return this.tmux('capture-pane', '-p', '-J', '-S', '-', '-t', pane);
  }

  async shows(pane: string, text: string): Promise<string> {
    const state = () => this.text(pane);
    await waitFor(`"${text}" in ${pane}`, () => this.text(pane).includes(text), { state });
    return this.text(pane);
  }

  async ends(ticketId: string, session = 'run'): Promise<void> {
    await waitFor(`the end of ${ticketId}`, () => this.paneOf(ticketId, session).dead, {
      state: () => JSON.stringify(this.panes(session)),
    });
  }

  /** Stands in for our command: says what it was called with, and ends when the ticket is let go. */
  follower(): string[] {
    const file = join(this.world.dir, 'follower.sh');
    writeFileSync(
      file,
      `echo "called $*"; echo "pid $$"; echo "in $PWD"; env | sed 's/^/has /'
while [ ! -e '${this.world.dir}/go/'"$3" ] && [ ! -e '${this.world.dir}/go/all' ]; do sleep 0.05; done\n`,
    );
    return ['/bin/sh', file];
  }

  /** A directory for PATH with a `tmux` made of shell lines, and nothing else that is called tmux. */
  fake(body: string | null): string {
    const dir = join(this.world.dir, 'fake');
    mkdirSync(dir);
    if (body !== null) {
      writeFileSync(join(dir, 'tmux'), `#!/bin/sh\n${body}\n`);
      chmodSync(join(dir, 'tmux'), 0o755);
    }
    return dir;
  }
}

/** A test with a world and a tmux server of its own. */
export const it = base.extend<{ server: TmuxServer }>({
  server: async ({ world }, use) => {
    const server = new TmuxServer(world);
    try {
      await use(server);
    } finally {
      server.kill();
    }
  },
});
