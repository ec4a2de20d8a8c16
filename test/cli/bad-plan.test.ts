import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { it, othersGoOn, refusal, type Shown, setUp, stateOf } from './support.ts';

describe.concurrent('a ticket file that cannot be used holds back that ticket alone', () => {
  const good = { planId: 'p', ticketId: 'bad', title: 'x' };
  const texts: [string, string, string][] = [
    ['is truncated', JSON.stringify(good, null, 2).slice(0, 30), 'not valid JSON'],
    ['is empty', '', 'the file is empty'],
    ['is a list', '[]', '1:1: found an empty list; allowed is a mapping.'],
    [
      'has no title',
      JSON.stringify({ ...good, title: undefined }),
      '1:1: title: found nothing; allowed is text.',
    ],
    [
      'has a status there is not',
      JSON.stringify({ ...good, status: 'redy' }),
      'allowed is queued, ready, running',
    ],
    ['belongs to another ticket', JSON.stringify({ ...good, ticketId: 'other' }), 'calls itself "p/other"'],
    [
      'was written by a newer version',
      JSON.stringify({ ...good, schema: 99 }),
      'written by a newer Signalbox',
    ],
    [
      'has a branch that starts with -',
      JSON.stringify({ ...good, branch: '-D' }),
      'branch "-D" starts with "-"',
    ],
    ['has an illegal branch', JSON.stringify({ ...good, branch: 'a..b' }), 'branch "a..b" contains ".."'],
    [
      'has a branch with a space',
      JSON.stringify({ ...good, branch: 'a b' }),
      'branch "a b" contains a space',
    ],
  ];
  it('because of what is in it', async ({ world }) => {
    const ids = texts.map((_, index) => `bad${index}`);
    setUp(world, 'commit', { ok: {}, ...Object.fromEntries(ids.map((id) => [id, {}])) });
    const written = texts.map(([, text], index) => text.replace('"bad"', `"bad${index}"`));
    for (const [index, text] of written.entries()) writeFileSync(world.ticketFile('p', `bad${index}`), text);
    const { code, out } = await world.cli('run', 'p');
    expect(code).toBe(1);
    expect(world.ticket('p', 'ok').status).toBe('complete');
    const { problems } = await world.json<Shown>('status', '--plan', 'p');
    for (const [index, [what, , message]] of texts.entries()) {
      const file = world.ticketFile('p', `bad${index}`);
      const line = out.split('\n').find((each) => each.includes(`${file}:`));
      expect(line, what).toContain(message);
      expect(problems[index], what).toMatchObject({
        ticketId: `bad${index}`,
        path: file,
        message: expect.stringContaining(message),
      });
      expect(readFileSync(file, 'utf8'), what).toBe(written[index]);
    }
    for (const id of ['bad0', 'bad5']) {
      const ended = await world.cli('pause', 'p', id);
      expect(ended.code).toBe(2);
      expect(refusal(ended)).toMatch(/\n {3}(Fix or delete the file|Correct planId)/);
    }
  });

  it('when it is missing', async ({ world }) => {
    setUp(world, 'commit', { bad: {}, ok: {} });
    rmSync(world.ticketFile('p', 'bad'));
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect((await world.cli('status')).out).toContain(`✗ ${world.ticketFile('p', 'bad')} does not exist`);
    expect(world.ticket('p', 'ok').status).toBe('complete');
  });

  it('when no plan lists it: it is named with its file', async ({ world }) => {
    setUp(world);
    world.writeTicket('p', 'stray', { title: 'x' });
    const { out } = await world.cli('status');
    expect(out).toContain(`${world.ticketFile('p', 'stray')}: the ticket is not listed in plan.json`);
  });
});

describe.concurrent('a plan file that cannot be used holds back that plan alone', () => {
  const plan = { id: 'bad', status: 'active' };
  const texts: [string, string, string][] = [
    ['is truncated', '{"id": "bad", "tick', 'not valid JSON'],
    ['is empty', '', 'the file is empty'],
    [
      'calls itself otherwise than its directory',
      JSON.stringify({ ...plan, id: 'q' }),
      '"q" but its directory is "bad2"',
    ],
    ['lists an id with a slash', entries('a/b'), 'tickets[0].ticketId: id "a/b" may contain only'],
    ['lists an id with ..', entries('..'), 'tickets[0].ticketId: id ".."'],
    ['lists an id with a newline', entries('a\nb'), 'tickets[0].ticketId: id "a\\nb"'],
    ['lists an id of 300 characters', entries('x'.repeat(300)), 'is 300 characters long'],
    ['has an illegal base', JSON.stringify({ ...plan, base: '--upload-pack=x' }), 'base: branch'],
  ];
  function entries(ticketId: string): string {
    return JSON.stringify({ ...plan, tickets: [{ ticketId }] });
  }
  it('because of what is in it', async ({ world }) => {
    setUp(world, 'commit', {});
    const written = texts.map(([, text], index) => text.replace('"bad"', `"bad${index}"`));
    for (const [index, text] of written.entries()) {
      mkdirSync(dirname(world.planFile(`bad${index}`)), { recursive: true });
      writeFileSync(world.planFile(`bad${index}`), text);
    }
    const told = await othersGoOn(world);
    const { out } = await world.cli('status');
    for (const [index, [what, , message]] of texts.entries()) {
      const file = world.planFile(`bad${index}`);
      // Once, with the id of its plan.
      expect(told.split(`✗ bad${index}: ${file}:`), what).toHaveLength(2);
      expect(out, what).toContain(`✗ ${file}:`);
      expect(out, what).toContain(message);
      expect(readFileSync(file, 'utf8'), what).toBe(written[index]);
    }
    for (const index of [0, 2, 3]) {
      const ended = await world.cli('run', '--plan', `bad${index}`);
      expect(ended.code).toBe(2);
      expect(refusal(ended).startsWith(`❌ ${world.planFile(`bad${index}`)}:`)).toBe(true);
      expect(ended.err).toMatch(/\n {3}\S/);
    }
  });

  it('when its directory has a name that no plan can have', async ({ world }) => {
    setUp(world, 'commit', {});
    for (const name of ['bad name', '-rf', '..hidden', 'x'.repeat(200), 'red\u001b[31m']) {
      mkdirSync(join(world.stateDir, 'plans', name), { recursive: true });
      writeFileSync(
        join(world.stateDir, 'plans', name, 'plan.json'),
        JSON.stringify({ id: name, status: 'active' }),
      );
    }
    const told = await othersGoOn(world);
    const { out } = await world.cli('status');
    for (const name of ['bad name', '-rf', '..hidden', 'red'])
      expect(out).toContain(`✗ ${join(world.stateDir, 'plans', name)}: the plan directory's name `);
    expect(told + out).not.toContain('\u001b');
  });

  it('when a blocker is listed many times, which is said once', async ({ world }) => {
    setUp(world, 'commit', { a: {}, b: { blockedBy: Array.from({ length: 30 }, () => 'a') } });
    const said = refusal(await world.cli('run', 'p'));
    expect(said.split('\n')[0]).toBe('❌ Ticket "b" lists "a" twice in blockedBy.');
  });

  it('when its tickets wait for each other, or for nothing there is', async ({ world }) => {
    setUp(world, 'commit', {});
    world.plan('loop', { tickets: { a: { blockedBy: ['b'] }, b: { blockedBy: ['a'] } } });
    world.plan('lost', { tickets: { c: { blockedBy: ['loop/zzz'] } } });
    const told = await othersGoOn(world);
    expect(told).toContain('Tickets wait for each other: a → b → a.');
    expect(told).toContain('Ticket "c" is blocked by "loop/zzz", which does not exist.');
    const { code, err } = await world.cli('run', 'lost');
    expect(code).toBe(2);
    expect(err).toContain('see all problems with: signalbox plan check lost');
  });
});

describe.concurrent('what lies where files and directories of a plan belong holds back that plan or ticket alone', () => {
  const odd: [string, (path: string) => void, string, string][] = [
    [
      'tickets',
      (path) => writeFileSync(path, ''),
      'cannot be read: a file is where a directory',
      'Move away',
    ],
    [
      'tickets/a.json',
      (path) => execFileSync('mkfifo', [path]),
      'cannot be read: it is a named pipe',
      'Move it',
    ],
    ['tickets/a.json', (path) => mkdirSync(path), 'cannot be read: it is a directory', 'put a file there'],
    ['plan.json', (path) => execFileSync('mkfifo', [path]), 'cannot be read: it is a named pipe', 'Move it'],
    ['.', (path) => writeFileSync(path, ''), 'is no directory of a plan', 'move it away'],
    ['.', (path) => symlinkSync('nowhere', path), 'is no directory of a plan', 'move it away'],
  ];
  it('whatever it is', async ({ world }) => {
    setUp(world, 'commit', {});
    const places = odd.map(([name, put], index) => {
      world.plan(`bad${index}`, { tickets: { a: {} } });
      const path = join(dirname(world.planFile(`bad${index}`)), name);
      rmSync(path, { recursive: true });
      put(path);
      return path;
    });
    const told = await othersGoOn(world);
    const { out, code } = await world.cli('status');
    expect(code).toBe(0);
    for (const [index, [, , message, fix]] of odd.entries())
      for (const text of [told, out]) {
        const line = text.split('\n').find((each) => each.includes(`${places[index]}`));
        expect(line, text).toContain(message);
        expect(line).toContain(fix);
      }
    for (const index of odd.keys())
      for (const args of [
        ['run', '--plan', `bad${index}`],
        ['plan', 'check', `bad${index}`],
        ['pause', `bad${index}`, 'a'],
      ]) {
        const ended = await world.cli(...args);
        expect(ended.code, args.join(' ')).toBeGreaterThan(0);
        expect(ended.out + ended.err).not.toMatch(/\bE[A-Z]{4,}\b/);
      }
  });
});

describe.concurrent('ids on the command line', () => {
  it('never become paths', async ({ world }) => {
    setUp(world);
    const before = stateOf(world);
    for (const id of ['a/b', '..', 'a\nb', 'x'.repeat(300)])
      for (const args of [
        ['logs', id],
        ['pause', 'p', id],
      ]) {
        const ended = await world.cli(...args);
        expect(ended.code, args.join(' ')).toBe(2);
        expect(refusal(ended)).toMatch(/^❌ The (plan|ticket) id "/);
      }
    for (const args of [
      ['plan', 'delete', '../plans/p', '--force'],
      ['status', '--plan', '../plans/p'],
    ])
      expect((await world.cli(...args)).code).toBe(2);
    expect(stateOf(world)).toEqual(before);
  });
});
