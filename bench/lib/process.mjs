import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';

const running = new Set();
const TICKS_PER_SECOND = 100;
const SAMPLE_MS = 40;

/**
 * Runs a command to its end and measures it: wall time, CPU time of all its processes, and the peak memory and own
 * CPU time of the process itself. Output goes to a file, so that nobody waits for a reader. CPU and memory are
 * undefined where there is no /proc.
 */
export async function measure(argv, { cwd, env, log, timeoutMs = 120_000, sample = false }) {
  const out = openSync(log, 'a');
  const cpuBefore = childrenCpu();
  const began = performance.now();
  const child = spawn(argv[0], argv.slice(1), { cwd, env, stdio: ['ignore', out, out] });
  closeSync(out);
  running.add(child);
  const seen = { peakKb: undefined, selfCpu: undefined };
  const sampler = sample ? setInterval(() => look(child.pid, seen), SAMPLE_MS) : undefined;
  const killer = setTimeout(() => child.kill('SIGTERM'), timeoutMs);
  const { code, wall } = await ended(child, began);
  running.delete(child);
  clearInterval(sampler);
  clearTimeout(killer);
  const cpu = cpuBefore === undefined ? undefined : childrenCpu() - cpuBefore;
  return { code, ms: wall, cpu, ...seen };
}

/** CPU seconds of a process so far, without its children; NaN where there is no /proc. */
export function cpuOf(pid) {
  const fields = statOf(pid);
  return fields ? (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND : Number.NaN;
}

/** The most memory that a process has had, in kB; NaN where there is no /proc. */
export function peakOf(pid) {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1] ?? Number.NaN);
}

/** `endRunning` ends it, too, until it is forgotten. */
export const remember = (child) => running.add(child);
export const forget = (child) => running.delete(child);

/** Asks what still runs to end. */
export function endRunning() {
  for (const child of running) child.kill('SIGTERM');
}

function ended(child, began) {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve({ code: code ?? signal, wall: performance.now() - began }));
  });
}

/** CPU seconds of all children that have ended and been waited for, theirs included. */
function childrenCpu() {
  const fields = statOf('self');
  return fields && (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
}

function look(pid, seen) {
  const [peak, cpu] = [peakOf(pid), cpuOf(pid)];
  if (peak > 0) seen.peakKb = peak;
  if (cpu > 0) seen.selfCpu = cpu;
}

/** /proc/<pid>/stat after the command name: index 0 is the state. */
function statOf(pid) {
  const text = read(`/proc/${pid}/stat`);
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}

function read(path) {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}
