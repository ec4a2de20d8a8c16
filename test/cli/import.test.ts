import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { WorkItem } from '../../src/issues/work-item.ts';
import { FakeGh } from '../support/gh/fake-gh.ts';
import { cliIn, errorIn, git, it, type World, write } from './support.ts';

interface Imported {
  items: WorkItem[];
  problems: { reference: string; code: string; message: string; resetAt?: string }[];
  more: boolean;
}

function github(world: World): FakeGh {
  git(world.repo, 'remote', 'add', 'origin', 'https://github.com/acme/web.git');
  const fake = new FakeGh(join(world.dir, 'github'));
  return fake.issues(
    { number: 1, title: 'One {{ title }} $(id)', body: 'Depends on: #2', labels: ['bug'], milestone: 'v1' },
    { number: 2, title: 'Two', parent: 1 },
  );
}

async function imported(world: World, fake: FakeGh, ...args: string[]) {
  const ended = await cliIn(world, world.repo, ['import', ...args], fake.env);
  return { ...ended, found: JSON.parse(ended.out) as Imported };
}

describe.concurrent('import', () => {
  it('prints work items as JSON, text as it is', async ({ world }) => {
    const fake = github(world);
    const { code, err, found } = await imported(world, fake, '1', '2');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(found.items).toMatchObject([
      {
        key: 'github:acme/web#1',
        number: 1,
        title: 'One {{ title }} $(id)',
        labels: ['bug'],
        milestone: 'v1',
        dependsOn: ['github:acme/web#2'],
        parent: null,
        subIssues: [],
        paths: [],
        blocked: null,
      },
      { number: 2, parent: 'github:acme/web#1' },
    ]);
  });

  it('lists issues by label, milestone, state and limit', async ({ world }) => {
    const fake = github(world);
    expect((await imported(world, fake, 'github', '--milestone', 'v1')).found.items).toHaveLength(1);
    expect((await imported(world, fake, 'github', '--state', 'closed')).found.items).toEqual([]);
    const cut = await imported(world, fake, 'github', '--limit', '1');
    expect(cut.found).toMatchObject({ items: [{ number: 1 }], more: true });
    expect(cut.err).toBe('There are more than 1. Ask for them with --limit.\n');
  });

  it('prints what it found and says what is missing, with exit code 1', async ({ world }) => {
    const fake = github(world);
    const { code, err, found } = await imported(world, fake, '1', '77');
    expect(code).toBe(1);
    expect(found.items).toHaveLength(1);
    expect(found.problems).toMatchObject([{ reference: '77', code: 'gh/not-found' }]);
    expect(err).toMatch(/^❌ .*#77 of acme\/web/);
  });

  it('says when a rate limit ends, and what to do without gh or a login', async ({ world }) => {
    const fake = github(world);
    fake.change((state) => {
      state.rateLimit = { remaining: 0, resetAt: '2031-02-03T04:05:06Z' };
    });
    const limited = await imported(world, fake, '1', '--json');
    expect(limited).toMatchObject({ code: 1, err: '' });
    expect(limited.found.problems).toMatchObject([
      { code: 'gh/rate-limited', resetAt: '2031-02-03T04:05:06.000Z' },
    ]);
    fake.change((state) => {
      state.loggedIn = false;
    });
    expect((await imported(world, fake, 'github')).err).toMatch(/gh auth login/);
    world.config({ ghCommand: '/nowhere/gh' });
    expect((await imported(world, fake, 'github')).err).toMatch(/is not installed or not on PATH/);
  });

  it('reads files and specs without any tracker', async ({ world }) => {
    write(world, 'a.md', '# A\n\n## Acceptance criteria\n- it is so\n');
    writeFileSync(join(world.dir, 'tasks.md'), '- [ ] 1. T\n  - [ ] 1.1 U\n  - [ ] 1.2 V\n');
    const found = await world.json<Imported>('import', 'a.md', '.', '--unit', 'leaf');
    expect(found.items.map(({ id }) => id)).toEqual(['a', '1.1', '1.2']);
    expect(found.items[0]?.acceptanceCriteria).toEqual(['it is so']);
  });

  it('says that `github` must be the only argument', async ({ world }) => {
    const fake = github(world);
    const alone = await cliIn(world, world.repo, ['import', 'github', '12', '#13'], fake.env);
    expect({ code: alone.code, out: alone.out }).toEqual({ code: 2, out: '' });
    expect(alone.err).toContain('`github` lists issues, so it must be the only argument.');
    expect(alone.err).toContain("For these alone: signalbox import 12 '#13'\n");
    expect(alone.err).toContain('For a list: signalbox import github --label bug\n');
    expect(fake.calls()).toEqual([]);
    const linear = errorIn(await world.cli('import', 'ENG-12', 'linear', '--json'));
    expect(linear).toMatchObject({ code: 'usage', hint: expect.stringContaining('import ENG-12\n') });
  });

  it('refuses flags that would be passed over', async ({ world }) => {
    for (const args of [
      ['a.md', '--label', 'x'],
      ['github', '--unit', 'leaf'],
      ['github', '--limit', '0'],
      ['github', '--state', 'green'],
      ['linear'],
    ]) {
      const ended = await world.cli('import', ...args, '--json');
      expect(ended.code, args.join(' ')).toBe(2);
      expect(errorIn(ended).code).toBe('usage');
    }
  });
});
