import { spawn } from 'node:child_process';
import { renderCommand } from '../content/index.ts';
import type { ErrorClass, Json } from '../model/ticket.ts';
import { type PhaseContext, variablesOf } from './context.ts';
import { phaseEnvironment } from './environment.ts';

const MOST_BYTES = 64 * 1024;
const TIMEOUT_MS = 60_000;

export type Captured =
  | { ok: true; values: Record<string, Json> }
  | { ok: false; error: { class: ErrorClass; message: string } };

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
      const command = await renderCommand(source, variablesOf(context));
      const { code, stdout, stderr } = await shell(context, command);
      if (code !== 0) {
        const message = `capture "${name}" exited with code ${code}: ${(stderr.trim() || command).slice(0, 300)}`;
        return { ok: false, error: { class: 'exit', message } };
      }
      values[name] = stdout.trim();
    }
  }
  return { ok: true, values };
}

function fieldOf(value: Json | undefined, path: string): Json | undefined {
  let here: Json | undefined = value;
  for (const key of path.split('.')) {
    if (here === null || typeof here !== 'object') return undefined;
    here = Array.isArray(here) ? here[Number(key)] : here[key];
  }
  return here;
}

function shell(
  context: PhaseContext,
  command: string,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', command], {
      cwd: context.place.worktree,
      env: phaseEnvironment(context, ''),
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: TIMEOUT_MS,
    });
    const texts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (chunk: string) => {
        if (texts[name].length < MOST_BYTES) texts[name] += chunk.slice(0, MOST_BYTES - texts[name].length);
      });
    }
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...texts }));
  });
}
