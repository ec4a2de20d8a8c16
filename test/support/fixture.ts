import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { waitFor } from './wait-for.ts';

/** A TypeScript file bundled to one that a bare `node` can run, in a directory of its own. */
export class Fixture {
  readonly file: string;
  readonly #dir: string;
  readonly #started: FixtureProcess[] = [];

  private constructor(dir: string, file: string) {
    this.#dir = dir;
    this.file = file;
  }

  static async build(url: URL): Promise<Fixture> {
    const dir = mkdtempSync(join(tmpdir(), 'fixture-'));
    const input = fileURLToPath(url);
    const name = `${basename(input, '.ts')}.mjs`;
    await build({
      input,
      platform: 'node',
      logLevel: 'silent',
      output: { dir, format: 'esm', entryFileNames: name },
    });
    return new Fixture(dir, join(dir, name));
  }

  /** Starts it as a process of its own. `through` is a command that runs it, such as `sh -c '…; exec "$@"' sh`. */
  start(args: readonly string[], through: readonly string[] = []): FixtureProcess {
    const started = new FixtureProcess([...through, process.execPath, this.file, ...args]);
    this.#started.push(started);
    return started;
  }

  /** Runs it to its end and reads what it printed as JSON. */
  async run<T>(args: readonly string[], through: readonly string[] = []): Promise<T> {
    const started = this.start(args, through);
    const { code, signal } = await started.ended;
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code ?? signal}: ${started.err}`);
    return JSON.parse(started.lines.at(-1) ?? 'null') as T;
  }

  /** Ends what still runs, by recorded process, and removes the bundle. */
  async remove(): Promise<void> {
    for (const each of this.#started) each.kill('SIGKILL');
    await Promise.all(this.#started.map((each) => each.ended));
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

export class FixtureProcess {
  readonly pid: number;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly #child: ChildProcess;
  #out = '';
  err = '';

  constructor([command = '', ...args]: readonly string[]) {
    this.#child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.pid = this.#child.pid ?? 0;
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#out += text;
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.err += text;
    });
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('close', (code, signal) => resolve({ code, signal }));
    });
  }

  /** Whole lines that it has printed so far. */
  get lines(): string[] {
    return this.#out.split('\n').slice(0, -1);
  }

  /** Waits for its nth line (from 0). */
  async line(n: number): Promise<string> {
    const state = () => `${this.#out}\n${this.err}`;
    await waitFor(`line ${n}`, () => this.lines.length > n, { state });
    return this.lines[n] ?? '';
  }

  kill(signal: NodeJS.Signals): void {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill(signal);
  }
}
