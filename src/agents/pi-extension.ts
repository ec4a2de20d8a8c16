/**
 * Loaded into pi for one run. Its providers' own retries wait for the end of a usage limit silently, and no flag turns
 * them off. This marks refusals as final, reports the limit that the headers name, ends the run at a long one, and
 * counts turns. Lines go to the file descriptor, because pi replaces `process.stdout`.
 */
export const PI_EXTENSION = `import { writeSync } from 'node:fs';

const report = (event) => writeSync(1, JSON.stringify({ type: 'signalbox', ...event }) + '\\n');
const maxTurns = Number(process.env.SIGNALBOX_PI_TURNS) || Infinity;
const LONG_MS = 10_000;
let run;

function resetOf(headers) {
  const wait = headers.get('retry-after');
  if (wait) return /^\\d+(\\.\\d+)?$/.test(wait) ? Date.now() + wait * 1000 : Date.parse(wait);
  const epoch = Number(headers.get('anthropic-ratelimit-unified-reset'));
  return epoch > 0 ? epoch * 1000 : NaN;
}

function watch(fetch) {
  return async (...args) => {
    const response = await fetch(...args);
    if (response.ok) return response;
    const reset = resetOf(response.headers);
    const resetAt = Number.isFinite(reset) ? new Date(reset).toISOString() : null;
    if (response.status === 429) report({ limit: { resetAt } });
    if (response.status === 429 && reset - Date.now() > LONG_MS) run?.abort();
    const headers = new Headers(response.headers);
    headers.set('x-should-retry', 'false');
    const { status, statusText } = response;
    return new Response(response.body, { status, statusText, headers });
  };
}

export default function (pi) {
  globalThis.fetch = watch(globalThis.fetch);
  let turns = 0;
  pi.on('turn_start', (_event, ctx) => {
    run = ctx;
    turns += 1;
    if (turns <= maxTurns) return;
    report({ turns: maxTurns });
    ctx.abort();
  });
}
`;
