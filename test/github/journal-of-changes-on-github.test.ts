import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ForgeJournal } from '../../src/github/journal-of-changes-on-github.ts';
import { HeldError } from '../../src/model/errors.ts';

it('makes no change that it may not make, and asks immediately before each', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'signalbox-journal-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const done: string[] = [];
  let isLost = false;
  const journal = new ForgeJournal(join(dir, 'forge.jsonl'), {
    now: () => '2026-01-01',
    crash: (point) => void done.push(point),
    mayAct: async () => {
      done.push('asked');
      if (isLost) throw new HeldError('claim/lost', 'Another engine has taken p/a.');
    },
  });
  const act = () =>
    journal.record('comment', { number: 1 }, async () => {
      done.push('acted');
      return {};
    });
  await act();
  expect(done.splice(0)).toEqual(['forge:comment-meant', 'asked', 'acted', 'forge:comment-done']);
  isLost = true;
  await expect(act()).rejects.toMatchObject({ code: 'claim/lost' });
  expect(done).toEqual(['forge:comment-meant', 'asked']);
  expect(journal.unsettled()).toEqual([]);
});
