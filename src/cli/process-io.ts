import { fstatSync, writeSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { ifPossible, unlessCode } from '../machine/files/read-and-remove-files.ts';
import type { OutputStream, ProcessIo, Signals } from './io.ts';

/** The process that this program runs in. */
export function processIo(): ProcessIo {
  return {
    cwd: unlessCode(['ENOENT'], () => process.cwd()),
    env: process.env,
    stdin: { fd: 0, isTTY: () => process.stdin.isTTY === true, readKeys },
    stdout: outputStream(1),
    stderr: outputStream(2),
    signals,
    exit: (code) => process.exit(code),
    onCrash(listener) {
      process.on('uncaughtExceptionMonitor', listener);
      return () => void process.off('uncaughtExceptionMonitor', listener);
    },
    keepHeapSmall,
  };
}

const KEY_SIGNALS: Readonly<Record<string, NodeJS.Signals>> = {
  '\u0003': 'SIGINT',
  '\u001a': 'SIGTSTP',
  '\u001c': 'SIGQUIT',
};

/** A process in the background would be stopped by any change of its terminal. */
function readKeys(listener: (keys: string) => void): (isInForeground: boolean) => void {
  const { stdin } = process;
  const take = (keys: string) => {
    const key = [...keys].find((each) => Object.hasOwn(KEY_SIGNALS, each));
    // The terminal itself would signal the whole process group.
    if (key !== undefined) process.kill(0, KEY_SIGNALS[key]);
    else listener(keys);
  };
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  stdin.on('data', take);
  stdin.resume();
  return (isInForeground) => {
    stdin.off('data', take);
    stdin.pause();
    if (isInForeground) stdin.setRawMode(false);
  };
}

const signals: Signals = {
  on(names, listener) {
    for (const name of names) process.on(name, listener);
    return () => {
      for (const name of names) process.off(name, listener);
    };
  },
  raise: (signal) => void process.kill(process.pid, signal),
};

/**
 * Collects garbage early instead of letting the heap grow: an engine keeps some 11 MB beside the tickets of open plans, and
 * it may run for weeks.
 */
function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--heap-growing-percent=30');
}

/**
 * Files and pipes are written to directly: loading Node's streams would take most of a short command's time, and they block
 * just as long. They are used for terminals, and for a pipe that refuses to block.
 */
function outputStream(fd: 1 | 2): OutputStream {
  let stream: NodeJS.WriteStream | undefined;
  let closed = false;
  let onClosed: (error?: Error) => void = () => undefined;
  const fail = (error: unknown) => {
    if (closed) return;
    closed = true;
    onClosed((error as NodeJS.ErrnoException).code === 'EPIPE' ? undefined : (error as Error));
  };
  const open = (): NodeJS.WriteStream => {
    stream = fd === 1 ? process.stdout : process.stderr;
    stream.on('error', fail);
    return stream;
  };
  const terminal = isDevice(fd) && open().isTTY ? terminalOf(open()) : undefined;
  return {
    fd,
    terminal,
    onClosed(listener) {
      onClosed = listener;
    },
    write(text) {
      if (closed) return;
      if (stream) stream.write(text);
      else writeDirectly(typeof text === 'string' ? Buffer.from(text) : text);
    },
  };

  function writeDirectly(bytes: Buffer): void {
    let done = 0;
    try {
      while (done < bytes.length) done += writeSync(fd, bytes, done);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') open().write(bytes.subarray(done));
      else fail(error);
    }
  }
}

function terminalOf(stream: NodeJS.WriteStream): OutputStream['terminal'] {
  return {
    columns: () => stream.columns || 80,
    rows: () => stream.rows || 24,
    onResize(listener) {
      stream.on('resize', listener);
      return () => void stream.off('resize', listener);
    },
  };
}

/** A closed descriptor is no terminal; the first write to it reports the error. */
function isDevice(fd: number): boolean {
  return ifPossible(() => fstatSync(fd).isCharacterDevice()) ?? false;
}
