import type { Socket } from 'node:net';
import { type Helper, startHelper } from '../machine/run-process.ts';

/** How long an idle process is kept. */
const IDLE_MS = 2_000;
/** Time limit of an answer: an agent may have blocked git. After that, another command is used. */
const ANSWER_MS = 10_000;

/** Fetches and replaces nothing: answers only with local objects. */
const LOCAL_ONLY_ENV = { GIT_ALLOW_PROTOCOL: 'none', GIT_NO_REPLACE_OBJECTS: '1' };

interface Question {
  names: readonly string[];
  found: (string | undefined)[];
  settle(answer: (string | undefined)[] | undefined): void;
}

/**
 * Finds objects by their names, with one `git cat-file --batch-command` per repository: a process for each question would cost
 * more than the rest of a phase. It ends by itself when it is not asked for a while, or when this process is gone.
 */
export function createNameResolver(command: () => string, env: Record<string, string>) {
  const readers = new Map<string, Reader>();
  /** The objects with these names; undefined when git has to be asked by another command. */
  return (commonDir: string, names: readonly string[]): Promise<(string | undefined)[] | undefined> => {
    let reader = readers.get(commonDir);
    if (!reader?.isOpen) {
      const args = ['cat-file', '--batch-command=%(objectname)', '--buffer'];
      // Not in the repository, which may be deleted meanwhile.
      const variables = { ...env, ...LOCAL_ONLY_ENV, GIT_DIR: commonDir };
      const helper = startHelper(command(), args, { cwd: '/', env: variables });
      // The other command meets the same error, and reports it.
      if (!helper) return Promise.resolve(undefined);
      reader = new Reader(helper);
      readers.set(commonDir, reader);
    }
    return reader.ask(names);
  };
}

class Reader {
  readonly #child: Helper;
  readonly #pending: Question[] = [];
  #text = '';
  #timer: NodeJS.Timeout | undefined;
  isOpen = true;

  constructor(child: Helper) {
    this.#child = child;
    child.on('error', () => this.#close());
    child.on('exit', () => this.#close());
    child.stdin.on('error', () => this.#close());
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk.toString('latin1')));
    this.#rest();
  }

  ask(names: readonly string[]): Promise<(string | undefined)[] | undefined> {
    return new Promise((settle) => {
      this.#pending.push({ names, found: [], settle });
      this.#await(ANSWER_MS, 'ref');
      this.#child.stdin.write(`${names.map((name) => `info ${name}\n`).join('')}flush\n`);
    });
  }

  #read(text: string): void {
    const lines = (this.#text + text).split('\n');
    this.#text = lines.pop() ?? '';
    for (const line of lines) {
      const [question] = this.#pending;
      if (!question) break;
      question.found.push(/^[0-9a-f]{40,64}$/.test(line) ? line : undefined);
      if (question.found.length < question.names.length) continue;
      this.#pending.shift();
      question.settle(question.found);
    }
    if (this.#pending.length === 0) this.#rest();
  }

  /** Lets this process end while the helper is idle. */
  #rest(): void {
    this.#await(IDLE_MS, 'unref');
  }

  #await(ms: number, hold: 'ref' | 'unref'): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#close(), ms)[hold]();
    this.#child[hold]();
    for (const pipe of [this.#child.stdin, this.#child.stdout]) (pipe as Socket)[hold]();
  }

  #close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    clearTimeout(this.#timer);
    this.#child.stdin.destroy();
    this.#child.stdout.destroy();
    if (this.#pending.length > 0) this.#child.kill('SIGKILL');
    for (const { settle } of this.#pending.splice(0)) settle(undefined);
  }
}
