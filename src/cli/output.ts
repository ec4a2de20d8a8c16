import { fstatSync, writeSync } from 'node:fs';

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

// biome-ignore lint/suspicious/noControlCharactersInRegex: taking them out is the point
const CONTROLS = /[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: taking them out is the point
const FOREIGN = /\u001b(?!\[(?:0|1|2|22|31|32|33|36|39)m)/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: taking them out is the point
const ESCAPE = /\u001b/g;

/** Text of any origin as a terminal may get it: line ends, tabs and our own colours are all that can act on it. */
export function forTerminal(text: string, color: boolean): string {
  return text.replace(CONTROLS, '').replace(color ? FOREIGN : ESCAPE, '');
}
