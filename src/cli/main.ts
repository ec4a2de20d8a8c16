import { SignalboxError } from '../model/errors.ts';
import { plainOptions, showStatus } from './commands/status.ts';
import type { Io } from './io.ts';
import { output } from './output.ts';

declare const __VERSION__: string;

const args = asCommand(process.argv.slice(2));
const json = args.includes('--json');
const color = !process.env.NO_COLOR && process.env.TERM !== 'dumb';
const UNWRITABLE = 4;
let unwritable = false;
const stdout = output(1, { color, onUnread });
const stderr = output(2, { color });

const io: Io = {
  cwd: process.cwd(),
  env: process.env,
  out: (text) => stdout.write(text),
  err: (text) => stderr.write(text),
  tty: stdout.tty,
  ...(stdout.tty ? { columns: () => process.stdout.columns || 80 } : {}),
  color: stdout.tty && color,
  exit: (code) => {
    process.exitCode = unwritable && code === 0 ? UNWRITABLE : code;
  },
};

if (args[0] === '--version' || args[0] === '-V') io.out(__VERSION__);
else void main();

/** `status | head` closes our output: that is no error. A full disk is one, but what is under way goes on. */
function onUnread(error?: Error): void {
  if (error) {
    unwritable = true;
    process.exitCode = UNWRITABLE;
    tell(
      'output',
      `Standard output cannot be written: ${error.message}.`,
      'Make room there, or write elsewhere.',
    );
  }
  if (io.onUnread) io.onUnread();
  else process.exit();
}

async function main(): Promise<void> {
  try {
    const status = args[0] === 'status' ? plainOptions(args.slice(1)) : undefined;
    if (status) return await showStatus(status, io);
    const { createProgram } = await import('./program.ts');
    const program = await createProgram(io, __VERSION__, { quiet: json, first: args[0] });
    await program.parseAsync([...process.argv.slice(0, 2), ...args]);
  } catch (error) {
    report(error);
  }
}

/** `--spec <dir>` alone is the command `spec`. */
function asCommand(words: string[]): string[] {
  return /^--spec(=|$)/.test(words[0] ?? '') ? ['spec', ...words] : words;
}

function report(error: unknown): void {
  const { code, exitCode } = error as { code?: string; exitCode?: number };
  if (code?.startsWith('commander.')) {
    reportUsage(error as Error, exitCode);
    return;
  }
  const message = error instanceof Error ? error.message : String(error);
  const hint = error instanceof SignalboxError ? error.hint : undefined;
  tell(code ?? 'error', message, hint);
  if (args.includes('--debug') && error instanceof Error) io.err(error.stack ?? '');
  process.exitCode = exitCodeOf(error);
}

/** Help and version end without an error; wrong words were explained already, unless JSON was asked for. */
function reportUsage(error: Error, exitCode: number | undefined): void {
  if (exitCode === 0) return;
  process.exitCode = ofSpec() ? 5 : 2;
  const message = error.message.startsWith('(') ? 'Which command?' : error.message.replace(/^error: /, '');
  if (json) tell('usage', message, 'signalbox --help shows the commands');
}

function tell(code: string, message: string, hint: string | undefined): void {
  if (json) io.err(JSON.stringify({ error: { code, message, hint: hint ?? null } }));
  else io.err(`❌ ${[message, ...(hint?.split('\n') ?? [])].join('\n   ')}`);
}

/**
 * 1: the answer is no; 2: bad input; 3: somebody else holds it; 4: the state cannot be written; 5: a spec cannot be
 * used or gone on with, since 1 and 2 say there how far its run came; 65: a box cannot be ticked, which trying again does not change.
 */
function exitCodeOf(error: unknown): number {
  if (error instanceof SignalboxError && error.code === 'state/storage') return 4;
  if (error instanceof SignalboxError && error.name === 'HeldError') return 3;
  const isInput = error instanceof SignalboxError && error.name === 'InputError';
  if (isInput && args.includes('tick') && ofSpec()) return 65;
  if (ofSpec() || (error as { code?: string }).code === 'spec/dirty') return 5;
  return isInput ? 2 : 1;
}

function ofSpec(): boolean {
  if (io.goesOnWithSpec) return true;
  const isValue = (index: number) => ['-C', '--config'].includes(args[index - 1] ?? '');
  const command = args.find((word, index) => !word.startsWith('-') && !isValue(index));
  return command === 'spec' || (command === 'resume' && args.some((word) => /^(spec-|--answer)/.test(word)));
}
