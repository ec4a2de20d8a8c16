import { fstatSync, writeSync } from 'node:fs';
import { forTerminal } from './terminal.ts';

export interface Output {
  /** Whether a person sees it directly. */
  tty: boolean;
  write(text: string): void;
}

interface Options {
  color: boolean;
  /** Nobody reads any more, or (with the error) nothing can be written. Without it such text is dropped. */
  onUnread?: (error?: Error) => void;
}

/**
 * Whole lines to standard output or error. Files and pipes are written to directly: Node's streams would be the better
 * part of a short command's time, and block just as long. A pipe that refuses to block goes on through them.
 */
export function output(fd: 1 | 2, { color, onUnread }: Options): Output {
  let stream: NodeJS.WriteStream | undefined;
  let unread = false;
  const lost = (error: unknown) => {
    if (unread) return;
    unread = true;
    const closed = (error as NodeJS.ErrnoException).code === 'EPIPE';
    onUnread?.(closed ? undefined : (error as Error));
  };
  const open = (): NodeJS.WriteStream => {
    stream = fd === 1 ? process.stdout : process.stderr;
    stream.on('error', lost);
    return stream;
  };
  const tty = isDevice(fd) && open().isTTY === true;
  return {
    tty,
    write(text) {
      if (unread) return;
      const line = `${tty ? forTerminal(text, color) : text}\n`;
      if (stream) stream.write(line);
      else direct(Buffer.from(line));
    },
  };

  function direct(bytes: Buffer): void {
    let done = 0;
    try {
      while (done < bytes.length) done += writeSync(fd, bytes, done);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') open().write(bytes.subarray(done));
      else lost(error);
    }
  }
}

function isDevice(fd: number): boolean {
  try {
    return fstatSync(fd).isCharacterDevice();
  } catch {
    // A closed descriptor is nobody's terminal; writing to it says the rest.
    return false;
  }
}
