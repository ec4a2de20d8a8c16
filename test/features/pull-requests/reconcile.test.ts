import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { ForgeJournal } from '../../../src/github/journal-of-changes-on-github.ts';
import { it } from '../../support/index.ts';
import { firstOnly } from '../../support/tiers.ts';
import { Bench } from './bench.ts';

const DEEDS = [
  ['push', ['forge', 'pr', 'p', 'a']],
  ['create', ['forge', 'pr', 'p', 'a']],
  ['edit', ['forge', 'pr', 'p', 'a']],
  ['comment', ['forge', 'comment', 'p', 'a', '--key', 'k', '--body-file', 'note.md']],
  ['merge', ['forge', 'merge', 'p', 'a']],
] as const;

describe('kill -9 around a deed on the forge', () => {
  for (const [deed, command] of DEEDS)
    for (const moment of ['meant', 'done'] as const)
      it(
        `${deed}, when it is ${moment}: once in the end, and the journal tells`,
        firstOnly(moment === 'done' ? 0 : 1),
        async ({ world }) => {
          const bench = new Bench(world);
          world.plan('p', { tickets: { a: {} } });
          await bench.work('a');
          world.append('note.md', 'A note.\n');
          if (deed !== 'push' && deed !== 'create') await bench.open('a');
          if (deed === 'edit')
            bench.gh.pullRequest(1, (pull) => {
              pull.body = 'What a person wrote.\n';
            });
          const crash = { ...bench.env, SIGNALBOX_CRASH_AT: `forge:${deed}-${moment}` };
          expect(await world.start(command, crash).ended).toMatchObject({ signal: 'SIGKILL' });
          const file = join(world.stateDir, 'jobs', 'p', 'a', 'forge.jsonl');
          const journal = new ForgeJournal(file, { now: () => '' });
          expect(journal.unsettled()).toMatchObject([{ what: deed, state: 'intent' }]);
          for (let times = 0; times < 2; times += 1) {
            const { code, err } = await world.invoke(command, bench.env).ended;
            expect(code, err).toBe(0);
          }
          expect(journal.unsettled()).toEqual([]);
          const pulls = bench.pulls();
          expect(pulls).toHaveLength(1);
          expect(bench.tip('ticket/p/a')).toBe(bench.tip('ticket/p/a', world.repo));
          if (deed === 'comment')
            expect(pulls[0]?.comments).toMatchObject([{ body: '<!-- signalbox-comment k -->\nA note.\n' }]);
          if (deed === 'edit') {
            expect(pulls[0]?.body).toMatch(/^What a person wrote\.\n\n<!-- signalbox -->/);
            expect(bench.gh.calls('pr edit')).toHaveLength(1);
          }
          if (deed === 'merge') {
            expect(pulls[0]?.state).toBe('MERGED');
            expect(bench.gh.calls('pr merge')).toHaveLength(1);
          }
        },
      );

  for (const [deed, command] of DEEDS)
    it(`${deed}, continued on a machine that has no journal of it: once in the end`, {
      tags: 'full',
    }, async ({ world }) => {
      const bench = new Bench(world);
      world.plan('p', { tickets: { a: {} } });
      await bench.work('a');
      world.append('note.md', 'A note.\n');
      if (deed !== 'push' && deed !== 'create') await bench.open('a');
      if (deed === 'edit')
        bench.gh.pullRequest(1, (pull) => {
          pull.body = 'What a person wrote.\n';
        });
      const crash = { ...bench.env, SIGNALBOX_CRASH_AT: `forge:${deed}-done` };
      expect(await world.start(command, crash).ended).toMatchObject({ signal: 'SIGKILL' });
      world.remove(join(world.stateDir, 'jobs', 'p', 'a'));
      const { code, err } = await world.invoke(command, bench.env).ended;
      expect(code, err).toBe(0);
      const [pull, ...more] = bench.pulls();
      expect(more).toEqual([]);
      expect(bench.tip('ticket/p/a')).toBe(bench.tip('ticket/p/a', world.repo));
      if (deed === 'comment') expect(pull?.comments).toHaveLength(1);
      if (deed === 'edit') expect(bench.gh.calls('pr edit')).toHaveLength(1);
      if (deed === 'merge') expect(bench.gh.calls('pr merge')).toHaveLength(1);
    });

  it('a comment whose answer got lost is found again, and another account’s mark counts for nothing', {
    tags: 'full',
  }, async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { a: {} } });
    await bench.work('a');
    await bench.open('a');
    world.append('note.md', 'A note.\n');
    const body = '<!-- signalbox-comment k -->\nNot ours.';
    bench.gh.pullRequest(1, (pull) => {
      pull.comments.push({ author: { login: 'mallory' }, body, createdAt: new Date().toISOString() });
    });
    bench.gh.fail({ call: 'pr comment', after: true, stderr: 'error connecting to api.github.com\n' });
    const args = ['forge', 'comment', 'p', 'a', '--key', 'k', '--body-file', 'note.md', '--json'];
    const first = await world.invoke(args, bench.env).ended;
    expect(JSON.parse(first.out)).toMatchObject({ number: 1, posted: true });
    const second = await world.invoke(args, bench.env).ended;
    expect(JSON.parse(second.out)).toMatchObject({ number: 1, posted: false });
    expect(bench.pulls()[0]?.comments.map(({ author }) => author.login)).toEqual(['mallory', 'octo']);
  });
});
