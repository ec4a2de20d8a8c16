import { existsSync } from 'node:fs';
import type { AttemptEnd } from '../model/state/attempt-end-types-and-waits.ts';
import type { ErrorClass, Json } from '../model/ticket.ts';
import { renderCommand } from '../workflows/templates/render-template.ts';
import { phaseEnvironment, variablesOf } from './attempt-variables-and-environment.ts';
import type { PhaseContext } from './phase-context.ts';
import { endOfJob, runJob } from './run-job.ts';

const MAX_CAPTURED_BYTES = 64 * 1024;
const LIMITS = { wallSeconds: 60, idleSeconds: null };

type Captured = { ok: true; values: Record<string, Json> } | { ok: false; end: AttemptEnd };

/** Collects what the phase captures. A failed capture fails the attempt: an empty value would be wrong. */
export async function capture(
  context: PhaseContext,
  from: { stdout: string; result: Json | undefined },
): Promise<Captured> {
  const wanted = 'capture' in context.phase ? (context.phase.capture ?? {}) : {};
  const values: Record<string, Json> = {};
  for (const [name, source] of Object.entries(wanted)) {
    if (source === 'stdout') {
      values[name] = from.stdout.trim();
    } else if (source.startsWith('result.')) {
      values[name] = fieldOf(from.result, source.slice('result.'.length)) ?? null;
    } else {
      const captured = await run(context, name, source);
      if ('end' in captured) return { ok: false, end: captured.end };
      values[name] = captured.stdout.trim();
    }
  }
  return { ok: true, values };
}

function fieldOf(value: Json | undefined, path: string): Json | undefined {
  let here: Json | undefined = value;
  for (const key of path.split('.')) {
    if (here === null || typeof here !== 'object' || !Object.hasOwn(here, key)) return undefined;
    here = Array.isArray(here) ? here[Number(key)] : here[key];
  }
  return here;
}

/** Runs the command as a job, with a timeout; it is stopped with its ticket and leaves nothing running. */
async function run(
  context: PhaseContext,
  name: string,
  source: string,
): Promise<{ stdout: string } | { end: AttemptEnd }> {
  const dir = `${context.jobDir}.capture-${name}`;
  const chunks: Buffer[] = [];
  let room = MAX_CAPTURED_BYTES;
  const result = await runJob(
    { ...context, resumed: context.resumed && existsSync(dir) },
    {
      dir,
      ...LIMITS,
      onOutput: (chunk) => {
        // A copy: the reader uses its buffer again.
        if (room > 0) chunks.push(Buffer.from(chunk.subarray(0, room)));
        room -= chunk.length;
      },
      job: async () => ({
        argv: ['/bin/sh', '-c', await renderCommand(source, variablesOf(context))],
        cwd: context.place.worktree,
        env: phaseEnvironment(context),
        stdin: null,
        stopSignal: 'SIGTERM',
      }),
    },
  );
  const early = endOfJob(result, LIMITS);
  if (early?.type === 'failed') return failed(early.error.class, name, early.error.message);
  if (early || !result) return { end: early as AttemptEnd };
  const { code, signal } = result.exit;
  if (code === 0) return { stdout: Buffer.concat(chunks).toString('utf8') };
  const how = signal ? `was killed by ${signal}` : `exited with code ${code}`;
  return failed('exit', name, `${how}: ${(result.stderrTail.trim() || source).slice(0, 300)}`);
}

function failed(kind: ErrorClass, name: string, what: string): { end: AttemptEnd } {
  return { end: { type: 'failed', error: { class: kind, message: `capture "${name}" ${what}` } } };
}

/** How much of an attempt's output a ticket keeps; the job's files have all of it. */
const MAX_KEPT_CHARS = 4096;

export function excerpt(text: string, keep: 'start' | 'end'): string {
  if (text.length <= MAX_KEPT_CHARS) return text;
  return keep === 'start' ? `${text.slice(0, MAX_KEPT_CHARS)}…` : `…${text.slice(-MAX_KEPT_CHARS)}`;
}

/** The last line of a command's output, with the line above it that an indented hint belongs to. */
export function lastWords(text: string): string {
  const lines = text.trimEnd().split('\n');
  const lastLines = lines.slice(
    Math.max(
      lines.findLastIndex((line) => /^\S/.test(line)),
      lines.length - 3,
    ),
  );
  const whole = /^\S/.test(lastLines[0] ?? '') ? lastLines : lastLines.slice(-1);
  return whole
    .map((line) => line.trim())
    .join(' ')
    .replace(/^[❌✗] /, '')
    .slice(0, 300);
}
