import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Settings } from '../../config/settings-table.ts';
import type { EngineContext } from '../../engine/context.ts';
import { type RunOptions, run } from '../../machine/run-process.ts';
import { messageOf } from '../../model/errors.ts';
import { maskedUrl } from '../../model/text/find-and-redact-secrets.ts';

export type Occasion = Settings['notify']['on'][number];

/** What is reported to a person: the JSON that hooks get. */
export interface Notice {
  event: Occasion | 'test';
  /** All of it in one line. */
  text: string;
  plan: string;
  ticket: string | null;
  title: string;
  phase: string | null;
  reason: string | null;
  at: string;
  /** On the page of `signalbox web`, where `web.publicUrl` is set. */
  url?: string;
}

/** A place that notices are sent to. `send` throws when it fails. */
export interface NotifyPlace {
  name: 'bell' | 'desktop' | 'command' | 'webhook';
  /** For people; holds no secret. */
  label: string;
  send(notice: Notice, signal: AbortSignal): Promise<void>;
}

const TIMEOUT_MS = 10_000;

/** The places that the settings name and that exist here. */
export function placesOf(engine: EngineContext): NotifyPlace[] {
  const { notify } = engine.settings;
  const places: NotifyPlace[] = [];
  const { bell } = engine;
  if (notify.bell && bell)
    places.push({ name: 'bell', label: 'the terminal’s bell', send: async () => bell() });
  if (notify.desktop) places.push(desktop(engine));
  if (notify.command !== null) places.push(command(engine, notify.command));
  if (notify.webhook !== null) places.push(webhook(notify.webhook));
  return places;
}

function desktop(engine: EngineContext): NotifyPlace {
  const program = process.platform === 'darwin' ? 'osascript' : 'notify-send';
  const send = async ({ text }: Notice, signal: AbortSignal) => {
    // Texts are arguments, never part of a script.
    const script = ['on run argv', 'display notification (item 1 of argv) with title "Signalbox"', 'end run'];
    const argv =
      program === 'osascript'
        ? [program, ...script.flatMap((line) => ['-e', line]), text]
        : [program, '--app-name=Signalbox', '--', 'Signalbox', text];
    await runProgram(argv, { ...programOptions(engine), signal, input: '' });
  };
  return { name: 'desktop', label: `the desktop (${program})`, send };
}

function command(engine: EngineContext, line: string): NotifyPlace {
  const send = async (notice: Notice, signal: AbortSignal) => {
    const json = JSON.stringify(notice);
    const { cwd, env, timeoutMs } = programOptions(engine);
    const own = {
      SIGNALBOX_EVENT: notice.event,
      SIGNALBOX_EVENT_TEXT: notice.text,
      SIGNALBOX_EVENT_JSON: json,
      SIGNALBOX_PLAN: notice.plan,
      ...(notice.ticket === null ? {} : { SIGNALBOX_TICKET: notice.ticket }),
    };
    const spec = { cwd, env: { ...env, ...own }, timeoutMs, signal, input: `${json}\n` };
    await runProgram(['/bin/sh', '-c', line], spec);
  };
  return { name: 'command', label: 'the command', send };
}

type SendOptions = Pick<RunOptions, 'cwd' | 'env' | 'input' | 'signal'> & { timeoutMs: number };

const TAIL_BYTES = 1_000;

/** Runs a program to its end; throws when it fails, with the last line that it printed, or takes too long. */
export async function runProgram(argv: readonly string[], options: SendOptions): Promise<void> {
  const [program = '', ...args] = argv;
  const end = await run(program, args, { ...options, tailBytes: TAIL_BYTES, leftovers: 'keep' });
  const { code, signal, stopped, error } = end;
  if (error) throw new Error(error.code === 'ENOENT' ? `${program} is not installed` : error.message);
  if (code === 0) return;
  const killed = signal ? `it was killed by ${signal}` : `it exited with code ${code}`;
  const late = `it took longer than ${options.timeoutMs / 1000} s`;
  const how = stopped === 'timeout' ? late : stopped ? 'it was stopped' : killed;
  const lastLine = end.stderr.trim().split('\n').at(-1);
  throw new Error(lastLine ? `${how}: ${lastLine}` : how);
}

/** Options of notification programs. They run in the user's home, which belongs to no project. */
function programOptions({ settings: { userHome }, env }: EngineContext) {
  return { cwd: existsSync(userHome) ? userHome : '/', env, timeoutMs: TIMEOUT_MS };
}

function webhook(url: string): NotifyPlace {
  const send = (notice: Notice, signal: AbortSignal) =>
    postJson(url, { ...notice, text: escapeForChat(notice.text) }, { signal });
  return { name: 'webhook', label: `the webhook ${maskedUrl(url)}`, send };
}

/** Escapes `<…>` and `@channel`, which chat services would read as links and mentions. */
export function escapeForChat(text: string): string {
  const plain = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return plain.replace(/@(?=(?:channel|here|everyone|all|group)\b)/gi, '@\u200b');
}

/** What went wrong, without the secret address. */
export function sayFailure(place: NotifyPlace, error: unknown, settings: Settings): string {
  const { webhook: url } = settings.notify;
  const text = messageOf(error);
  const clean = url === null ? text : text.replaceAll(url, maskedUrl(url));
  return `No notification by ${place.label}: ${clean}`;
}

interface HttpOptions {
  signal: AbortSignal;
  /** Time limit of one request. */
  timeoutMs?: number;
  /** Pauses between requests; at most `waitsMs.length + 1` requests. */
  waitsMs?: readonly number[];
}

const LONGEST_WAIT_MS = 5_000;

type Answer = { ok: true } | { ok: false; said: string; again: boolean; afterMs: number };

/** Posts JSON, with a few retries for temporary errors. Errors never name the address: it may contain a key. */
export async function postJson(
  url: string,
  body: unknown,
  { signal, timeoutMs = 5_000, waitsMs = [500, 2_000] }: HttpOptions,
): Promise<void> {
  const text = JSON.stringify(body);
  for (let tries = 0; ; tries++) {
    const answer = await post(url, text, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
    if (answer.ok) return;
    const wait = waitsMs[tries];
    if (!answer.again || wait === undefined || signal.aborted)
      throw new Error(`${answer.said}${tries > 0 ? ` (${tries + 1} tries)` : ''}`);
    await delay(Math.min(Math.max(wait, answer.afterMs), LONGEST_WAIT_MS), undefined, { signal });
  }
}

async function post(url: string, body: string, signal: AbortSignal): Promise<Answer> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'signalbox' },
      body,
      signal,
      // A redirect is an error that a person has to check: keys are not sent to another address.
      redirect: 'manual',
    });
    await response.body?.cancel();
    if (response.ok) return { ok: true };
    const { status } = response;
    const again = status === 429 || status >= 500;
    const after = Number(response.headers.get('retry-after'));
    return { ok: false, said: `it answered ${status}`, again, afterMs: after > 0 ? after * 1000 : 0 };
  } catch (error) {
    return { ok: false, said: sayNetwork(error), again: true, afterMs: 0 };
  }
}

function sayNetwork(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: string; message?: string } };
  if (name === 'TimeoutError') return 'it did not answer in time';
  return cause?.code ?? cause?.message ?? name ?? 'the connection failed';
}
