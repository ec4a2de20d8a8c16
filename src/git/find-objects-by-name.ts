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
  const readers = new Map<string, ReturnType<typeof readFrom>>();
  /** The objects with these names; undefined when git has to be asked by another command. */
  return (commonDir: string, names: readonly string[]): Promise<(string | undefined)[] | undefined> => {
    let reader = readers.get(commonDir);
    if (!reader?.isOpen()) {
      const args = ['cat-file', '--batch-command=%(objectname)', '--buffer'];
      // Not in the repository, which may be deleted meanwhile.
      const variables = { ...env, ...LOCAL_ONLY_ENV, GIT_DIR: commonDir };
      const helper = startHelper(command(), args, { cwd: '/', env: variables });
      // The other command meets the same error, and reports it.
      if (!helper) return Promise.resolve(undefined);
      reader = readFrom(helper);
      readers.set(commonDir, reader);
    }
    return reader.ask(names);
  };
}

/** Asks one such process; not again once it is closed. */
function readFrom(child: Helper) {
  const pending: Question[] = [];
  let unread = '';
  let timer: NodeJS.Timeout | undefined;
  let isOpen = true;
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    clearTimeout(timer);
    child.stdin.destroy();
    child.stdout.destroy();
    if (pending.length > 0) child.kill('SIGKILL');
    for (const { settle } of pending.splice(0)) settle(undefined);
  };
  /** `unref` lets this process end while the helper is idle. */
  const closeAfter = (ms: number, hold: 'ref' | 'unref') => {
    clearTimeout(timer);
    timer = setTimeout(close, ms)[hold]();
    child[hold]();
    for (const pipe of [child.stdin, child.stdout]) (pipe as Socket)[hold]();
  };
  const read = (chunk: Buffer) => {
    const lines = (unread + chunk.toString('latin1')).split('\n');
    unread = lines.pop() ?? '';
    for (const line of lines) {
      const [question] = pending;
      if (!question) break;
      question.found.push(/^[0-9a-f]{40,64}$/.test(line) ? line : undefined);
      if (question.found.length < question.names.length) continue;
      pending.shift();
      question.settle(question.found);
    }
    if (pending.length === 0) closeAfter(IDLE_MS, 'unref');
  };
  child.on('error', close);
  child.on('exit', close);
  child.stdin.on('error', close);
  child.stdout.on('data', read);
  closeAfter(IDLE_MS, 'unref');
  return {
    isOpen: () => isOpen,
    ask: (names: readonly string[]) =>
      new Promise<(string | undefined)[] | undefined>((settle) => {
        pending.push({ names, found: [], settle });
        closeAfter(ANSWER_MS, 'ref');
        child.stdin.write(`${names.map((name) => `info ${name}\n`).join('')}flush\n`);
      }),
  };
}
