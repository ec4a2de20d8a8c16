/** Every error a person may see: a stable code, one sentence, and what to do about it. */
export class SignalboxError extends Error {
  readonly code: string;
  readonly hint: string | undefined;
  /** Facts a program needs to recover: paths, ids, line numbers. */
  readonly details: Record<string, unknown>;

  constructor(code: string, message: string, options: SignalboxErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.hint = options.hint;
    this.details = options.details ?? {};
  }
}

export interface SignalboxErrorOptions {
  hint?: string | undefined;
  details?: Record<string, unknown>;
  cause?: unknown;
}

/** A file a person or planner wrote cannot be used: names the file, the place and the fix. */
export class InputError extends SignalboxError {}

/** A command is not legal in the ticket's present state; `details.legal` names those that are. */
export class IllegalMoveError extends SignalboxError {}

/** Another process holds what this one needs; `details.holder` names it. */
export class HeldError extends SignalboxError {}

/** A workspace is not what the ticket recorded, or cannot be made. */
export class WorkspaceError extends SignalboxError {}

/** What went wrong and what to do about it, for places that have one line for both. */
export function explained(error: unknown): string {
  const hint = error instanceof SignalboxError ? error.hint : undefined;
  return hint ? `${messageOf(error)} ${hint}` : messageOf(error);
}

/** What the computer is short of, by the code of a system error, and by the words of programs. */
const SHORTAGES: ReadonlyArray<readonly [codes: string | null, words: RegExp, what: string]> = [
  // Its code is that of a full disk.
  [null, /limit for number of file watchers/i, 'no further file can be watched'],
  ['EMFILE|ENFILE', /too many open files/i, 'too many files are open'],
  ['EAGAIN', /resource temporarily unavailable|cannot fork/i, 'no further process can be started'],
  // The limit of a program's own heap stays the same, however long is waited.
  ['ENOMEM', /cannot allocate memory|(?<!heap )out of memory/i, 'there is not enough memory'],
  [
    'ENOSPC|EDQUOT',
    // For files that it has opened and cannot fill, git does not name the reason.
    /no space left on device|disk quota exceeded|unable to write new[ _]index file|could not write (?:new )?index|couldn't write '[^'\n]*\.lock'|unable to write file [^:\n]+$/im,
    'the disk is full',
  ],
];

/** A code as programs print it: `EMFILE: too many open files`, `spawn git EMFILE`, `code: 'EMFILE'`. It is not part of a name. */
const printedCode = (codes: string) =>
  new RegExp(`code:? ['"]?(?:${codes})\\b|(?<![\\w./"'-])(?:${codes})(?=:|\\.?\\s*$)`, 'm');

/** What this computer is short of, where that made something fail: it may help to wait. */
export function shortageOf(error: unknown): string | undefined {
  for (let each = error; each instanceof Error; each = each.cause) {
    const what = shortageBy(each);
    if (what) return `${what}: ${withoutCode(messageOf(error))}`;
  }
  return undefined;
}

/** The message of a system error has the path of a file, whose name may contain any word. */
function shortageBy(error: NodeJS.ErrnoException): string | undefined {
  const { code, syscall, message } = error;
  const text = `${message}\n${'stderr' in error ? error.stderr : ''}`;
  const found = SHORTAGES.find(([codes, words]) =>
    syscall === undefined
      ? words.test(text) || (codes !== null && printedCode(codes).test(text))
      : codes?.split('|').includes(code ?? ''),
  );
  return found?.[2];
}

/** Node's words about a failed call, such as `EMFILE: too many open files, open 'a'` and `spawn git EMFILE`, without the code. */
function withoutCode(message: string): string {
  return message
    .replace(/: spawn \S+ E[A-Z]+\b/, '')
    .replace(/\bspawn (\S+) E[A-Z]+\b/, '$1 cannot be started')
    .replace(/\bE[A-Z]+: [^,\n]+, (\w+)/, (_, call) => `cannot ${call === 'scandir' ? 'read' : call}`);
}

/** What is said of a shortage that the engine meets outside of phases. */
export function triedAgain(shortage: string): string {
  return `${shortage.replace(/\.$/, '')}; the engine tries again`;
}

/** The last line of a program's output that says what this computer is short of. */
export function shortageIn(output: string): string | undefined {
  const line = output.split('\n').findLast((each) => shortageOf(new Error(each)));
  return line?.trim();
}

/** Errors of a class as a result; any other error is thrown. */
export async function orError<T, E extends SignalboxError>(
  kind: new (...args: never[]) => E,
  work: () => T | Promise<T>,
): Promise<T | E> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof kind) return error;
    throw error;
  }
}

/** The result of `work`; undefined where an error of this class says that there is none. */
export async function ignoring<T>(
  kind: new (...args: never[]) => SignalboxError,
  work: () => T | Promise<T>,
): Promise<T | undefined> {
  const result = await orError(kind, work);
  return result instanceof kind ? undefined : result;
}

/** The same for what may be missing or not usable, without waiting. */
export function ifUsable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
