import { expandPath, userHome } from '../machine/paths-and-user-home.ts';
import { InputError, SignalboxError } from '../model/errors.ts';
import { shellWord } from '../model/text/quote-values-for-shell.ts';
import type { Lines } from '../report/printable-text.ts';
import { printable, safeJson } from '../report/printable-text.ts';
import { asciiMarks, inLocalTime, isUtf8, style } from '../report/style-and-phrases.ts';
import { wrapLines } from '../report/tables-and-text-wrapping.ts';
import { plainOptions, status } from './commands/status.ts';
import { ASK, errorLines, type Io, type OutputStream, type ProcessIo, wordsOf } from './io.ts';
import { commandName, openSettings } from './open-settings-store-and-engine.ts';

declare const __VERSION__: string;

/** Standard output cannot be written. */
const UNWRITABLE = 4;

/** Runs one command. `argv` has the words after the program's name. Never rejects; resolves with the exit code. */
export async function runCli(argv: readonly string[], process: ProcessIo): Promise<number> {
  const { env, cwd = '/' } = process;
  const stdout = inLocale(process.stdout, env);
  const stderr = inLocale(process.stderr, env);
  const args = asCommand(argv);
  const color = !env.NO_COLOR && env.TERM !== 'dumb';
  let code = 0;
  let unwritable = false;
  let ended = false;
  let endEarly: (code: number) => void = () => undefined;
  const early = new Promise<number>((resolve) => {
    endEarly = resolve;
  });
  const endings: (() => Promise<void>)[] = [];
  const exitCode = () => (unwritable && code === 0 ? UNWRITABLE : code);
  const io: Io = {
    ...process,
    stdout,
    stderr,
    cwd,
    argv: args,
    out: lineWriter(stdout, color),
    err: lineWriter(stderr, color),
    tty: stdout.terminal !== undefined,
    ...(stdout.terminal ? { columns: stdout.terminal.columns } : {}),
    color: stdout.terminal !== undefined && color,
    style: style(stdout.terminal !== undefined && color),
    exit: (given) => {
      code = given;
    },
    leave: (given) => {
      endEarly(given);
      process.exit?.(given);
    },
    keepHeapSmall: () => process.keepHeapSmall?.(),
    atEnd: (close) => void endings.push(close),
  };
  // `status | head` closes our output, which is no error. A full disk is one, but the work continues.
  stdout.onClosed((error) => {
    if (error) {
      unwritable = true;
      const message = `Standard output cannot be written: ${error.message}.`;
      showError(io, 'output', message, 'Make room there, or write elsewhere.');
    }
    if (ended || !io.onUnread) io.leave(exitCode());
    else io.onUnread();
  });
  const begun = process.cwd === undefined ? Promise.reject(noDirectory()) : runCommand(io);
  const done = begun
    .catch((error: unknown) => io.exit(reportError(error, io)))
    .finally(() => Promise.all(endings.map((close) => close())));
  return Promise.race([done.then(exitCode), early]).finally(() => {
    ended = true;
  });
}

function noDirectory(): InputError {
  return new InputError('usage', 'The working directory has been deleted.', {
    hint: 'Change to one that exists, for example: cd ~',
  });
}

/** `--spec <dir>` alone is the command `spec`, and `help run` is `run --help`. */
function asCommand(argv: readonly string[]): readonly string[] {
  if (argv[0] === 'help') return [...argv.slice(1), '--help'];
  return /^--spec(=|$)/.test(argv[0] ?? '') ? ['spec', ...argv] : argv;
}

/** Files and pipes always get UTF-8. */
function inLocale(stream: OutputStream, env: ProcessIo['env']): OutputStream {
  if (!stream.terminal || isUtf8(env)) return stream;
  return {
    get fd() {
      return stream.fd;
    },
    terminal: stream.terminal,
    write: (text) => stream.write(typeof text === 'string' ? asciiMarks(text) : text),
    onClosed: (listener) => stream.onClosed(listener),
  };
}

/** Where everything is printed, on terminals and in pipes. */
function lineWriter(stream: OutputStream, color: boolean): (lines: Lines) => void {
  const colored = color && stream.terminal !== undefined;
  return (lines) =>
    stream.write(
      [lines]
        .flat()
        .map((line) => `${printable(line, colored)}\n`)
        .join(''),
    );
}

async function runCommand(io: Io): Promise<void> {
  const [first, ...rest] = io.argv;
  if (first === '--version' || first === '-V') return io.out(__VERSION__);
  if (first === undefined && io.tty && io.stdin.isTTY())
    return (await import('./commands/doctor-and-overview.ts')).overview(io);
  const plain = first === 'status' ? plainOptions(rest) : undefined;
  if (plain) return status(io, plain);
  if (first === ASK) return (await import('./commands/completion.ts')).completeNames(io, rest);
  const { createProgram, refuseUnknownCommand } = await import('./build-command-parser.ts');
  const program = createProgram(io, __VERSION__);
  if (io.argv.some((word) => word === '--help' || word === '-h')) refuseUnknownCommand(program, io.argv);
  await program.parseAsync(io.argv, { from: 'user' });
  if (RUNS.has(commandName(io)) && !wantsJson(io)) await nameConfigFile(io, program.opts());
}

const RUNS: ReadonlySet<string> = new Set(['run', 'spec']);

/** The commands that a run prints find nothing without the config file that decided where its state is. */
async function nameConfigFile(io: Io, { config }: { config?: string }): Promise<void> {
  if (config === undefined) return;
  const [given, usual] = await Promise.all(
    [{ config }, {}].map((each) => openSettings(io, each).catch(() => undefined)),
  );
  if (given === undefined || given.stateDir === usual?.stateDir) return;
  const file = shellWord(expandPath(config, io.cwd, userHome(io.env)));
  io.err(`! Later commands need this config file, too: export SIGNALBOX_CONFIG=${file}`);
}

function wantsJson({ argv }: Io): boolean {
  return argv.includes('--json');
}

/** Errors that a wrong argument causes. */
const UNKNOWN: ReadonlySet<string> = new Set(['plan/unknown', 'ticket/unknown']);

/** Shows an error and returns the exit code for it. */
function reportError(error: unknown, io: Io): number {
  const { code, exitCode } = error as { code?: string; exitCode?: number };
  if (code?.startsWith('commander.')) return reportHelp(exitCode, io);
  const message = error instanceof Error ? error.message : String(error);
  const hint = error instanceof SignalboxError ? error.hint : undefined;
  showError(io, code ?? 'error', message, hint, listsProblems(error));
  if (io.argv.includes('--debug') && error instanceof Error)
    io.err(withoutPasswords(error.stack ?? '').split('\n'));
  return exitCodeOf(error, io);
}

/** The parser has printed the help: because it was asked for, or because no command was named. */
function reportHelp(exitCode: number | undefined, io: Io): number {
  if (exitCode === 0) return 0;
  if (wantsJson(io)) showError(io, 'usage', 'Which command?', 'Help: signalbox --help');
  return isAboutSpec(io) ? 5 : 2;
}

/** Messages are one line, unless they list problems. */
function listsProblems(error: unknown): boolean {
  return error instanceof SignalboxError && Array.isArray(error.details.problems);
}

function showError(io: Io, code: string, said: string, advice: string | undefined, isList = false): void {
  const [message, hint] = [withoutPasswords(said), advice && withoutPasswords(advice)];
  if (wantsJson(io)) io.err(safeJson({ error: { code, message, hint: hint ?? null } }));
  else {
    const help = UNKNOWN.has(code) ? `Help: signalbox ${commandName(io)} --help` : undefined;
    const below = [hint, help].filter((each) => each !== undefined).join('\n');
    const lines = errorLines(isList ? message.split('\n') : message, below || undefined);
    io.err(
      wrapLines(
        lines.map((line) => inLocalTime(line)),
        io.stderr.terminal?.columns(),
      ),
    );
  }
}

/** An error may quote an argument, and the address of a store may be where something else belongs, also as a path. */
function withoutPasswords(text: string): string {
  return text.replaceAll(/(\b[a-z]+:\/{1,2}[^\s:/@]+:)[^\s@]+@/gi, '$1…@');
}

/**
 * 1: the answer is no; 2: bad input; 3: another process holds it; 4: the state cannot be written; 5: a spec cannot be used or
 * resumed, since 1 and 2 say how far its run came; 65: a box cannot be ticked, and retrying does not change that.
 */
function exitCodeOf(error: unknown, io: Io): number {
  if (error instanceof SignalboxError && error.code === 'state/storage') return 4;
  if (error instanceof SignalboxError && error.name === 'HeldError') return 3;
  const isInput = error instanceof SignalboxError && error.name === 'InputError';
  const isUsage = (error as { code?: string }).code === 'usage';
  if (isInput && !isUsage && io.argv.includes('tick') && isAboutSpec(io)) return 65;
  if (isAboutSpec(io) || (error as { code?: string }).code === 'spec/dirty') return 5;
  return isInput ? 2 : 1;
}

function isAboutSpec({ argv, resumesSpec }: Io): boolean {
  if (resumesSpec) return true;
  const [command] = wordsOf(argv);
  return command === 'spec' || (command === 'resume' && argv.some((word) => /^(spec-|--answer)/.test(word)));
}
