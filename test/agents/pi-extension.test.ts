import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PI_EXTENSION } from '../../src/agents/pi-extension.ts';

/** Loads the extension as pi does, answers its calls with one response, and begins three turns. */
const HOST = `
import load from './extension.mjs';
const [status, headers] = JSON.parse(process.argv[2]);
globalThis.fetch = async () => new Response('the body', { status, headers });
const handlers = {};
load({ on: (name, handler) => { handlers[name] = handler; } });
let aborts = 0;
const turn = () => handlers.turn_start({}, { abort: () => { aborts += 1; } });
turn();
const response = await fetch('http://127.0.0.1/');
const seen = [response.status, response.headers.get('x-should-retry'), await response.text(), aborts];
turn();
turn();
console.log(JSON.stringify({ seen, aborts }));
`;

let dir = '';
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'signalbox-test-pi-'));
  writeFileSync(join(dir, 'extension.mjs'), PI_EXTENSION);
  writeFileSync(join(dir, 'host.mjs'), HOST);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function run(status: number, headers: Record<string, string> = {}, turns = ''): unknown[] {
  const args = [join(dir, 'host.mjs'), JSON.stringify([status, headers])];
  const out = execFileSync(process.execPath, args, { env: { SIGNALBOX_PI_TURNS: turns }, encoding: 'utf8' });
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describe('the extension for pi', () => {
  it('leaves an answer as it is', () => {
    expect(run(200)).toEqual([{ seen: [200, null, 'the body', 0], aborts: 0 }]);
  });

  it('makes a refusal final, whose body can still be read', () => {
    expect(run(529)).toEqual([{ seen: [529, 'false', 'the body', 0], aborts: 0 }]);
  });

  it('tells of a limit, and ends the run only when it is long', () => {
    expect(run(429)).toEqual([
      { type: 'signalbox', limit: { resetAt: null } },
      { seen: [429, 'false', 'the body', 0], aborts: 0 },
    ]);
    expect(run(429, { 'retry-after': '2' })[1]).toMatchObject({ aborts: 0 });
    const [told, end] = run(429, { 'retry-after': '3600' }) as [{ limit: { resetAt: string } }, unknown];
    const ahead = Date.parse(told.limit.resetAt) - Date.now();
    expect(ahead).toBeGreaterThan(3_500_000);
    expect(ahead).toBeLessThanOrEqual(3_600_000);
    expect(end).toMatchObject({ seen: [429, 'false', 'the body', 1] });
  });

  it.each([
    ['retry-after', 'Fri, 20 Nov 2065 08:00:00 GMT', '2065-11-20T08:00:00.000Z'],
    ['anthropic-ratelimit-unified-reset', '3025152000', '2065-11-11T08:00:00.000Z'],
    ['retry-after', 'soon', null],
  ])('reads %s: %s', (name, value, resetAt) => {
    expect(run(429, { [name]: value })[0]).toEqual({ type: 'signalbox', limit: { resetAt } });
  });

  it('ends the run at the turn after the last', () => {
    expect(run(200, {}, '2')).toEqual([
      { type: 'signalbox', turns: 2 },
      { seen: [200, null, 'the body', 0], aborts: 1 },
    ]);
  });
});
