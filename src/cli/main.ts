import { SignalboxError } from '../model/errors.ts';
import type { Io } from './io.ts';

declare const __VERSION__: string;

const io: Io = {
  cwd: process.cwd(),
  env: process.env,
  out: (text) => void process.stdout.write(`${text}\n`),
  err: (text) => void process.stderr.write(`${text}\n`),
  tty: process.stdout.isTTY === true,
  color: process.stdout.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb',
  exit: (code) => {
    process.exitCode = code;
  },
};

// `status | head` closes our output: that is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

const args = process.argv.slice(2);
if (args[0] === '--version' || args[0] === '-V') io.out(__VERSION__);
else await main();

async function main(): Promise<void> {
  const { createProgram } = await import('./program.ts');
  const program = createProgram(io, __VERSION__);
  try {
    await program.parseAsync(process.argv);
  } catch (error) {
    report(error);
  }
}

function report(error: unknown): void {
  const { code, exitCode } = error as { code?: string; exitCode?: number };
  if (code?.startsWith('commander.')) {
    process.exitCode = exitCode === 0 ? 0 : 2;
    return;
  }
  const message = error instanceof Error ? error.message : String(error);
  const hint = error instanceof SignalboxError ? error.hint : undefined;
  if (args.includes('--json'))
    io.err(JSON.stringify({ error: { code: code ?? 'error', message, hint: hint ?? null } }));
  else {
    io.err(`❌ ${message}`);
    if (hint) io.err(`   ${hint.replaceAll('\n', '\n   ')}`);
  }
  if (args.includes('--debug') && error instanceof Error) io.err(error.stack ?? '');
  process.exitCode = exitCodeOf(error);
}

/** 1: the answer is no; 2: bad input; 3: somebody else holds it; 4: the state cannot be written. */
function exitCodeOf(error: unknown): number {
  if (!(error instanceof SignalboxError))
    return error instanceof Error && error.constructor.name === 'UsageError' ? 2 : 1;
  if (error.code === 'state/storage') return 4;
  if (error.name === 'HeldError') return 3;
  return error.name === 'InputError' ? 2 : 1;
}
