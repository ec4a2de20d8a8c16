import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import {
  isAlive,
  machineId,
  ownIdentity,
  ownNamespace,
  type ProcessNamespace,
  visibilityOf,
} from '../../src/machine/process-identity-and-signals.ts';

const HERE: ProcessNamespace = { host: 'box', machine: 'm', boot: 'b', pids: 'pid:[1]' };

it.each<[string, Partial<ProcessNamespace>, ReturnType<typeof visibilityOf>]>([
  ['the same', {}, 'seen'],
  ['another host name', { host: 'renamed' }, 'seen'],
  ['another machine id in the same boot and namespace', { machine: 'other' }, 'seen'],
  ['another pid namespace', { pids: 'pid:[2]' }, 'hidden'],
  ['a container that was started again: host name and namespace', { host: 'c2', pids: 'pid:[2]' }, 'hidden'],
  ['an earlier boot of this machine', { boot: 'old', host: 'renamed' }, 'gone'],
  ['another machine of the same name', { boot: 'other', machine: 'n' }, 'hidden'],
  ['no boot id', { boot: '' }, 'seen'],
  ['no boot id, another machine', { boot: '', machine: 'n' }, 'hidden'],
  ['0.1', { machine: undefined, pids: undefined }, 'seen'],
  ['0.1, an earlier boot', { machine: undefined, pids: undefined, boot: 'old' }, 'gone'],
  ['0.1, another host', { machine: undefined, pids: undefined, boot: 'x', host: 'y' }, 'hidden'],
  ['0.1, another host name in this boot', { machine: undefined, pids: undefined, host: 'y' }, 'doubtful'],
])('%s', (_name, more, wanted) => {
  expect(visibilityOf({ ...HERE, ...more }, HERE)).toBe(wanted);
});

it('a process of another namespace is neither alive nor dead', () => {
  expect(isAlive(ownIdentity())).toBe(true);
  expect(isAlive({ ...ownIdentity(), started: '1' })).toBe(false);
  expect(isAlive({ ...ownIdentity(), host: 'renamed' })).toBe(true);
  expect(isAlive({ ...ownIdentity(), pids: 'pid:[1]', host: 'renamed' })).toBeUndefined();
  const { host: _, machine: __, pids: ___, ...old } = ownIdentity();
  expect(isAlive({ ...old, host: 'renamed' })).toBe(true);
  expect(isAlive({ ...old, host: 'renamed', started: '1' })).toBeUndefined();
});

it('the id of a machine is that of the system, hashed, or a file that is made once', () => {
  const dir = mkdtempSync(join(tmpdir(), 'machine-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const [system, made] = [join(dir, 'machine-id'), join(dir, 'made')];
  const first = machineId([system], made);
  expect(first).toMatch(/^[0-9a-f]{16}$/);
  expect(machineId([system], made)).toBe(first);
  expect(readFileSync(made, 'utf8')).not.toBe('');
  writeFileSync(system, `${'a'.repeat(32)}\n`);
  const second = machineId([system], made);
  expect(second).not.toBe(first);
  expect(second).not.toContain('aaaa');
  expect(machineId([], join(dir, 'no', 'such', 'place'))).toBe('');
  expect(ownNamespace().machine).not.toBe('');
});
