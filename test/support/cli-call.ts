import { EventEmitter } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OutputStream, ProcessIo, Terminal } from '../../src/cli/io.ts';
import { runCli } from '../../src/cli/run-cli.ts';
import { type Ended, says } from './cli.ts';

/** A call of the command line inside this process: as `Running`, without the time that a process takes to start. */
export class CliCall {
  readonly ended: Promise<Ended>;
  readonly #stdout: MemoryStream;
  readonly #stderr = new MemoryStream();
  readonly #signals = new EventEmitter();
  alive = true;

  constructor(
    args: readonly string[],
    /** `terminal`: standard input is one; with `columns` standard output is one, too. */
    options: { cwd: string; env: NodeJS.ProcessEnv; input?: string; terminal?: boolean; columns?: number },
  ) {
    const { input = '', terminal = false, columns, ...place } = options;
    this.#stdout = new MemoryStream(columns);
    const locale = columns === undefined ? {} : { LANG: 'C.UTF-8' };
    const env = { ...locale, ...place.env };
    this.ended = this.#run(args, { ...place, env }, new Input(input, terminal));
  }

  async #run(args: readonly string[], place: Pick<ProcessIo, 'cwd' | 'env'>, stdin: Input): Promise<Ended> {
    try {
      const code = await runCli(args, {
        ...place,
        stdin,
        stdout: this.#stdout,
        stderr: this.#stderr,
        signals: {
          on: (names, listener) => {
            for (const name of names) this.#signals.on(name, listener);
            return () => {
              for (const name of names) this.#signals.off(name, listener);
            };
          },
          raise: () => undefined,
        },
      });
      return { code, signal: null, out: this.#stdout.text, err: this.#stderr.text };
    } finally {
      this.alive = false;
      for (const stream of [stdin, this.#stdout, this.#stderr]) stream.close();
    }
  }

  get soFar(): string {
    return `${this.#stdout.text}\n${this.#stderr.text}`;
  }

  /** What Ctrl-C or `kill` do to a command that handles signals. */
  kill(signal: 'SIGINT' | 'SIGTERM'): Promise<Ended> {
    if (!this.#signals.emit(signal, signal) && this.alive)
      throw new Error(`${signal} would end the process: start it as one`);
    return this.ended;
  }

  /** As `kill('SIGTERM')`, also where it has stopped listening because it is about to end. */
  stop(): Promise<Ended> {
    this.#signals.emit('SIGTERM', 'SIGTERM');
    return this.ended;
  }

  says(text: string | RegExp): Promise<void> {
    return says(this, text);
  }
}

/** A file with this text, made when a command or a program that it starts reads it. */
class Input {
  readonly #text: string;
  readonly isTTY: () => boolean;
  #fd: number | undefined;

  constructor(text: string, terminal: boolean) {
    this.#text = text;
    this.isTTY = () => terminal;
  }

  get fd(): number {
    if (this.#fd === undefined) {
      const dir = mkdtempSync(join(tmpdir(), 'signalbox-test-input-'));
      writeFileSync(join(dir, 'text'), this.#text);
      this.#fd = openSync(join(dir, 'text'), 'r');
      rmSync(dir, { recursive: true });
    }
    return this.#fd;
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
  }
}

/** Text in memory, or in a file as soon as another program needs a descriptor for it. */
class MemoryStream implements OutputStream {
  readonly terminal: Terminal | undefined;
  #memory = '';
  #file: { fd: number; dir: string } | undefined;

  constructor(columns?: number) {
    if (columns === undefined) return;
    this.terminal = { columns: () => columns, rows: () => 24, onResize: () => () => undefined };
  }

  get fd(): number {
    if (!this.#file) {
      const dir = mkdtempSync(join(tmpdir(), 'signalbox-test-stream-'));
      this.#file = { fd: openSync(join(dir, 'text'), 'a+'), dir };
      writeSync(this.#file.fd, this.#memory);
    }
    return this.#file.fd;
  }

  get text(): string {
    return this.#file ? readFileSync(join(this.#file.dir, 'text'), 'utf8') : this.#memory;
  }

  write(text: string): void {
    if (this.#file) writeSync(this.#file.fd, text);
    else this.#memory += text;
  }

  onClosed(): void {
    // Memory takes any text.
  }

  close(): void {
    if (!this.#file) return;
    this.#memory = this.text;
    closeSync(this.#file.fd);
    rmSync(this.#file.dir, { recursive: true });
    this.#file = undefined;
  }
}
