import { existsSync } from 'node:fs';
import type { AttemptEnd } from '../model/state/outcome.ts';
import type { ErrorClass, Json } from '../model/ticket.ts';
import { renderCommand } from '../workflows/index.ts';
import { type PhaseContext, variablesOf } from './context.ts';
import { phaseEnvironment } from './environment.ts';
import { endOfJob, runJob } from './run-job.ts';

const MOST_BYTES = 64 * 1024;
const TIMEOUT_SECONDS = 60;

export type Captured = { ok: true; values: Record<string, Json> } | { ok: false; end: AttemptEnd };

/** Collects what the phase captures. One that fails fails the attempt: an empty value would be a lie. */
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
      const said = await run(context, name, source);
      if ('end' in said) return { ok: false, end: said.end };
      values[name] = said.stdout.trim();
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

/** The command is a job like any other: it ends in time, is stopped with its ticket, and leaves nothing running. */
async function run(
  context: PhaseContext,
  name: string,
  source: string,
): Promise<{ stdout: string } | { end: AttemptEnd }> {
  const dir = `${context.jobDir}.capture-${name}`;
  const chunks: Buffer[] = [];
  let room = MOST_BYTES;
  const result = await runJob(
    { ...context, resumed: context.resumed && existsSync(dir) },
    {
      dir,
      wallSeconds: TIMEOUT_SECONDS,
      idleSeconds: null,
      onOutput: (chunk) => {
        // A copy: the reader uses its buffer again.
        if (room > 0) chunks.push(Buffer.from(chunk.subarray(0, room)));
        room -= chunk.length;
      },
      spec: async () => ({
        argv: ['/bin/sh', '-c', await renderCommand(source, variablesOf(context))],
        cwd: context.place.worktree,
        env: phaseEnvironment(context, `${context.jobDir}/prompt.md`),
        stdin: null,
        stopSignal: 'SIGTERM',
      }),
    },
  );
  const early = endOfJob(result, TIMEOUT_SECONDS, null);
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
