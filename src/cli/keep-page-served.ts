import { type Helper, startHelper } from '../machine/run-process.ts';

/** Pauses between starts grow from the first to the second; a page that was served for longer than the second begins anew. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A server that does not end by itself is killed. */
const END_MS = 2_000;
/** It needs a tenth of this. */
const MAX_HEAP_MB = 512;

/** Set for the server of a daemon: it ends when its standard input does, so that it does not outlive the daemon. */
export const OF_DAEMON = 'SIGNALBOX_WEB_OF_DAEMON';

/** What `web --json` prints first. */
export interface WebStart {
  type: 'web:start';
  url: string;
  pid: number;
  tokenFile: string;
  /** Another process serves it already. */
  running: boolean;
}

export interface KeptPage {
  close(): Promise<void>;
}

/** Serves the page in a process of its own, which is started again when it ends: nothing that happens in it reaches the daemon. */
export function keepPageServed(options: {
  command: readonly [node: string, cli: string];
  words: readonly string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
  onServed(start: WebStart): void;
  /** `how`: a signal, or the exit code. */
  onEnded(how: string, pauseMs: number): void;
}): KeptPage {
  const { command, words, cwd, env, onServed, onEnded } = options;
  const [node, cli] = command;
  let child: Helper | undefined;
  let timer: NodeJS.Timeout | undefined;
  let pause = FIRST_PAUSE_MS;
  let isClosed = false;
  const start = () => {
    const began = performance.now();
    const args = [`--max-old-space-size=${MAX_HEAP_MB}`, cli, 'web', '--json', ...words];
    child = startHelper(node, args, { cwd, env: { ...env, [OF_DAEMON]: '1' } as Record<string, string> });
    let served: WebStart | undefined;
    let said = '';
    child?.stdout.on('data', (chunk: Buffer) => {
      if (served) return;
      said += chunk;
      const [line, rest] = said.split('\n', 2);
      if (line === undefined || rest === undefined) return;
      served = JSON.parse(line) as WebStart;
      onServed(served);
    });
    const again = (code: number | null, signal: NodeJS.Signals | null) => {
      child = undefined;
      if (isClosed) return;
      if (performance.now() - began > LONGEST_PAUSE_MS) pause = FIRST_PAUSE_MS;
      // Another process serves the page: check from time to time whether it still does.
      if (served?.running) pause = LONGEST_PAUSE_MS;
      else onEnded(signal ?? `code ${code ?? 'unknown'}`, pause);
      timer = setTimeout(start, pause);
      timer.unref();
      pause = Math.min(LONGEST_PAUSE_MS, pause * 2);
    };
    if (child) child.once('exit', again);
    else again(null, null);
  };
  start();
  return {
    close: async () => {
      isClosed = true;
      clearTimeout(timer);
      const last = child;
      if (!last) return;
      const ended = new Promise<void>((resolve) => last.once('exit', () => resolve()));
      const kill = setTimeout(() => last.kill('SIGKILL'), END_MS);
      last.kill('SIGTERM');
      await ended;
      clearTimeout(kill);
    },
  };
}
