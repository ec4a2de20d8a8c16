import type { Io } from '../../src/cli/io.ts';
import { style } from '../../src/report/style-and-phrases.ts';

/** What a command gets from `runCli`, for tests of one part of the command line. `said` has its lines. */
export function testIo(more: Partial<Io> = {}): { io: Io; said: string[] } {
  const said: string[] = [];
  const note = (text: string) => void said.push(text);
  const stream = { fd: -1, terminal: undefined, write: note, onClosed: () => undefined };
  const io: Io = {
    argv: [],
    cwd: '/',
    env: {},
    stdin: { fd: -1, isTTY: () => false },
    stdout: stream,
    stderr: stream,
    signals: { on: () => () => undefined, raise: () => undefined },
    out: note,
    err: note,
    tty: false,
    color: false,
    style: style(false),
    exit: () => undefined,
    leave: () => undefined,
    keepHeapSmall: () => undefined,
    atEnd: () => undefined,
    ...more,
  };
  return { io, said };
}
