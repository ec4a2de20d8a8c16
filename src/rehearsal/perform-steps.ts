import { appendFileSync, lstatSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, relative, sep } from 'node:path';
import type { Access } from '../model/agent-and-adapter-types.ts';
import { InputError } from '../model/errors.ts';
import type { Json } from '../model/ticket.ts';
import type { Place } from './commit-and-run-shell.ts';
import type { Step, StepArgs, StepName } from './scenario-rules.ts';
import { minimalInstance } from './schema-example.ts';
import type { Output } from './stdio.ts';

interface Scene extends Place {
  output: Output;
  access: Access;
  prompt: string;
  /** JSON Schema of the wanted result. */
  schema: { [key: string]: Json } | null;
}

/** How the process must end, beyond an exit code. */
export type Ending = { exit: number } | { signal: NodeJS.Signals } | { hang: true; stubborn: boolean };

/** What a prompt may ask an agent to end with. */
const DONE = '<promise>TASK_DONE</promise>';

/** Carries out the steps in order; without a result among them, a fitting one is given at the end. */
export async function perform(scene: Scene, steps: Step[]): Promise<Ending> {
  const names = new Set(steps.map((step) => step.name));
  let spent = names.has('usage');
  let said = '';
  for (const step of steps) {
    if (step.name === 'say') said = step.args.text;
    if (step.name === 'result' && !spent) {
      spend(scene, said);
      spent = true;
    }
    const ending = await act(scene, step);
    if (ending) return ending;
  }
  if (names.has('result')) return { exit: 0 };
  if (!spent) spend(scene, said);
  const text = `${said || 'Done.'}${scene.prompt.includes(DONE) ? `\n\n${DONE}` : ''}`;
  const data = scene.schema ? { data: minimalInstance(scene.schema) } : {};
  scene.output.line({ type: 'result', text, ...data });
  return { exit: 0 };
}

async function act(scene: Scene, { name, args }: Step): Promise<Ending | undefined> {
  const { output } = scene;
  switch (name) {
    case 'say':
      return void output.line({ type: 'text', text: args.text });
    case 'tool':
      return void tool(output, { summary: '', ...args });
    case 'usage':
      return void output.line({ type: 'usage', ...args });
    case 'result':
      return void output.line({ type: 'result', text: '', ...args });
    case 'wait':
      return new Promise((resolve) => setTimeout(() => resolve(undefined), args.seconds * 1000));
    case 'print':
      return void print(output, args);
    case 'write':
      mayWrite(scene, name);
      return void write(scene, args);
    case 'commit': {
      mayWrite(scene, name);
      const { commitAll } = await import('./commit-and-run-shell.ts');
      const done = await commitAll(scene, args.message);
      const summary = done === 'committed' ? args.message : 'nothing to commit';
      return void tool(output, { name, summary });
    }
    case 'run':
      mayWrite(scene, name);
      return run(scene, args.command);
    case 'limit': {
      const resetAt = new Date(Date.now() + args.seconds * 1000).toISOString();
      const message = args.message ?? `Usage limit reached; it resets at ${resetAt}.`;
      output.line({ type: 'limit', resetAt, message });
      return { exit: 1 };
    }
    case 'fail':
      output.line({ type: 'error', class: args.class, message: args.message });
      return { exit: 1 };
    case 'crash':
      return args.signal === undefined ? { exit: args.code ?? 1 } : { signal: args.signal };
    case 'hang':
      return { hang: true, stubborn: args.stubborn ?? false };
  }
}

/** A command cannot be held to reading, so `run` counts as writing. */
function mayWrite(scene: Scene, name: StepName): void {
  if (scene.access !== 'read') return;
  throw new InputError('rehearsal/access', `The scenario wants to ${name} in a phase whose access is read.`, {
    hint: 'Narrow the rule with "when: {phase: …}", or give the phase access: write.',
  });
}

function write(scene: Scene, { path, text, append }: StepArgs['write']): void {
  const target = safePath(scene.cwd, path);
  mkdirSync(dirname(target), { recursive: true });
  if (append === undefined) writeFileSync(target, text ?? '');
  else appendFileSync(target, append);
  tool(scene.output, { name: 'write', summary: path });
}

/** A tool that is over in a moment begins and ends; a scenario may leave one open. */
function tool(
  output: Scene['output'],
  { done = true, ...about }: { name: string; summary: string; done?: boolean },
): void {
  output.line({ type: 'tool', ...about, done: false });
  if (done) output.line({ type: 'tool', ...about, done: true });
}

async function run(scene: Scene, command: string): Promise<Ending | undefined> {
  const about = { type: 'tool', name: 'run', summary: command } as const;
  scene.output.line({ ...about, done: false });
  const { runShell } = await import('./commit-and-run-shell.ts');
  const ended = await runShell(scene, command);
  scene.output.line({ ...about, done: true, ...(ended === 0 ? {} : { failed: true }) });
  if (ended === 0) return undefined;
  const how = typeof ended === 'number' ? `exit code ${ended}` : ended;
  scene.output.line({ type: 'error', class: 'exit', message: `"${command}" ended with ${how}.` });
  return { exit: 1 };
}

/** Prints noise that is no protocol line, in bounded pieces whatever its size. */
function print(output: Output, { bytes, oneLine }: StepArgs['print']): void {
  const piece = oneLine ? 'x'.repeat(65_536) : `${'x'.repeat(999)}\n`.repeat(64);
  for (let left = bytes; left > 0; left -= piece.length) output.noise(piece.slice(0, left));
  output.noise('\n');
}

/** About four characters make a token; a rehearsal costs nothing. */
function spend(scene: Scene, said: string): void {
  const tokens = (text: string) => Math.ceil(text.length / 4);
  scene.output.line({
    type: 'usage',
    inputTokens: tokens(scene.prompt),
    outputTokens: tokens(said),
    costUsd: 0,
  });
}

/** True when a path, as written, is no file below the directory it is relative to. */
export function escapes(path: string): boolean {
  if (path === '' || path.includes('\0') || path.endsWith('/') || isAbsolute(path)) return true;
  const parts = normalize(path).split(sep);
  return parts[0] === '..' || parts[0] === '.' || parts.some((part) => part.toLowerCase() === '.git');
}

/** The absolute path of a file to write below `cwd`, or an error when it or a link on the way leads out. */
function safePath(cwd: string, path: string): string {
  if (escapes(path)) throw outside(path);
  const root = realpathSync(cwd);
  const target = join(root, path);
  let existing = target;
  while (!lstatSync(existing, { throwIfNoEntry: false })) existing = dirname(existing);
  const inside = relative(root, realTarget(existing, path));
  if (inside !== '' && escapes(inside)) throw outside(path);
  return target;
}

/** A link to nothing is refused: writing through it would make a file wherever it points. */
function realTarget(existing: string, path: string): string {
  try {
    return realpathSync(existing);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw outside(path);
    throw error;
  }
}

function outside(path: string): InputError {
  return new InputError('rehearsal/path', `The path ${JSON.stringify(path)} leads out of the worktree.`, {
    hint: 'Write only below the working directory, and not into .git.',
  });
}
