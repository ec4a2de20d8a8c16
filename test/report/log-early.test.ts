import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { machineIn } from '../../src/machine/machine-files-and-locks.ts';
import { createLog } from '../../src/report/plan-ticket-and-attempt-log.ts';
import { style } from '../../src/report/style-and-phrases.ts';
import { attempt, plan, ticket } from '../model/build.ts';
import { MemoryStore } from '../support/memory-store.ts';

it('reads an agent’s protocol although the attempt was looked at before its process was started', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'signalbox-log-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const store = new MemoryStore();
  const machine = machineIn(dir);
  const open = attempt('build', 'running', { agent: 'rehearsal' });
  await store.create(plan(), [ticket({ status: 'running', phaseHistory: [open] })]);
  const log = createLog(store, machine, {
    planId: 'p',
    ticketId: 't',
    phase: null,
    json: false,
    style: style(false),
    redact: (text) => text,
  });
  expect(log()).toHaveLength(1);
  const job = machine.job({ planId: 'p', ticketId: 't' }, open);
  mkdirSync(job, { recursive: true });
  const agent = { name: 'rehearsal', adapter: 'rehearsal' };
  writeFileSync(join(job, 'command.json'), JSON.stringify({ agent }));
  writeFileSync(join(job, 'stdout'), '{"type":"text","text":"Hello."}\n');
  expect(log()).toEqual(['Hello.']);
});
