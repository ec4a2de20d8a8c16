/** What a command may touch of the world outside; the entry point fills it in from the process. */
export interface Io {
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** One or more whole lines; the line end is added. */
  out(text: string): void;
  err(text: string): void;
  tty: boolean;
  /** Width of the terminal now; missing where there is none. */
  columns?: () => number;
  color: boolean;
  /** Sets the exit code; the process ends when its work is done. */
  exit(code: number): void;
  /** Called when nobody reads the output any more. Without it the process ends then. */
  onUnread?: () => void;
  /** Set by a command that goes on with a spec: 1 and 2 say how far its run came, so that errors have another code. */
  goesOnWithSpec?: boolean;
}

export function outJson(io: Io, value: unknown): void {
  io.out(JSON.stringify(value, null, 2));
}
