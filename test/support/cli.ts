import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { waitFor } from './wait-for.ts';

export const CLI = fileURLToPath(new URL('../../dist/cli.cjs', import.meta.url));

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
}

/** Waits until a command has printed something. Its whole output is known when it has ended. */
export async function says(command: { soFar: string }, text: string | RegExp): Promise<void> {
  const isThere = () => (typeof text === 'string' ? command.soFar.includes(text) : text.test(command.soFar));
  await waitFor(`${text} in its output`, isThere, { state: () => command.soFar });
}

/** The built command, running as a process of its own. */
export class Running {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  #out = '';
  #err = '';

  /** `left`: files that it finds open, by the number that they have there. `cli`: the entry file of another build. */
  constructor(
    args: readonly string[],
    {
      left = {},
      cli = CLI,
      ...options
    }: { cwd: string; env: NodeJS.ProcessEnv; left?: Record<number, number>; cli?: string },
  ) {
    const length = Math.max(2, ...Object.keys(left).map(Number)) + 1;
    const stdio = Array.from({ length }, (_, fd) => left[fd] ?? (fd === 1 || fd === 2 ? 'pipe' : 'ignore'));
    this.#child = spawn(process.execPath, [cli, ...args], { ...options, stdio });
    this.pid = this.#child.pid ?? 0;
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#out += text;
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#err += text;
    });
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('close', (code, signal) => resolve({ code, signal, out: this.#out, err: this.#err }));
    });
  }

  kill(signal: NodeJS.Signals): Promise<Ended> {
    this.#child.kill(signal);
    return this.ended;
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** What it has printed by now, which may end anywhere: to wait for something in it, and for messages about a failure. */
  get soFar(): string {
    return `${this.#out}\n${this.#err}`;
  }

  says(text: string | RegExp): Promise<void> {
    return says(this, text);
  }
}
