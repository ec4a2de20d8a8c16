import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import { cliIn, type Shown } from '../../cli/support.ts';
import { git, it, variants, type World, waitFor } from '../../support/index.ts';
import { Hub, path } from './hub.ts';

const DEMO = fileURLToPath(new URL('../../../rehearsals/demo-project', import.meta.url));

function teatime(world: World): void {
  cpSync(DEMO, world.repo, { recursive: true });
  git(world.repo, 'add', '--all');
  git(world.repo, 'commit', '--quiet', '--message=Teatime');
}

describe('bugfix', () => {
  it('wants a test that fails, then a fix that makes it pass', { tags: 'full' }, async ({ world }) => {
    teatime(world);
    const hub = new Hub(world, 'bugfix');
    world.config({ checks: ['node --test'] });
    const ids = ['ok', 'again', 'never', 'absent', 'half', 'review'];
    world.plan('p', { tickets: Object.fromEntries(ids.map((id) => [id, {}])) });
    const run = hub.start();
    for (const id of ['ok', 'again', 'half', 'review']) await hub.waits(id, 'await_review');
    await hub.review('ok', 'APPROVED');
    await hub.waits('ok', 'await_merge');
    await hub.merge('ok');
    for (const id of ['again', 'half', 'review'])
      await hub.change(id, (pull) => Object.assign(pull, { state: 'CLOSED' }));
    await run.ended;
    const story = (id: string) => [...path(world.ticket('p', id)), world.ticket('p', id).currentPhase];
    const tail = ['verify', 'self_review:pass', 'create_pr'];
    expect(story('ok')).toEqual([
      ...['setup', 'reproduce:reproduced', 'red_test', 'implement', ...tail],
      ...['await_review:approved', 'await_merge:merged', 'cleanup', 'complete'],
    ]);
    const closed = ['await_review:closed', 'pr_closed'];
    expect(story('again')).toEqual([
      ...['setup', 'reproduce:reproduced', 'red_test:failure', 'reproduce:reproduced', 'red_test'],
      ...['implement', ...tail, ...closed],
    ]);
    expect(hub.prompt('again', 'reproduce.2.1')).toContain('nothing shows the bug');
    expect(story('never').at(-1)).toBe('escalate');
    expect(world.ticket('p', 'never').visits.red_test).toBe(3);
    expect(story('absent')).toEqual(['setup', 'reproduce:not_reproduced', 'not_reproduced']);
    expect(world.ticket('p', 'absent').status).toBe('needs_attention');
    expect(story('half').slice(3, 7)).toEqual(['implement', 'verify:failure', 'implement', 'verify']);
    expect(story('review').slice(3, 9)).toEqual([
      ...['implement', 'verify', 'self_review:fail', 'implement', 'verify', 'self_review:pass'],
    ]);
    expect(hub.prompt('half', 'implement.1.1')).toContain('Water boils at 99 degrees.');
    expect(git(hub.origin, 'show', 'main:src/water.js')).toBe('export const boils = 100;');
  });

  it('takes no red base for a bug that is shown', { tags: 'full' }, async ({ world }) => {
    writeFileSync(`${world.repo}/BROKEN`, 'by somebody else\n');
    git(world.repo, 'add', 'BROKEN');
    git(world.repo, 'commit', '--quiet', '--message=Break');
    const said = { outcome: 'reproduced', summary: 'It fails.', test: 'test/none.test.js' };
    const answer = { result: { text: 'ok', data: said } };
    const hub = new Hub(world, 'bugfix', [
      { when: { ticket: 'nothing', phase: 'reproduce' }, do: [answer] },
      {
        when: { ticket: 'trivial', phase: 'reproduce' },
        do: [{ write: { path: 'some.test.js', text: '\n' } }, { commit: 'Test' }, answer],
      },
    ]);
    world.plan('p', { tickets: { nothing: {}, trivial: {} } });
    await hub.start().ended;
    for (const id of ['nothing', 'trivial']) {
      expect(world.ticket('p', id)).toMatchObject({ currentPhase: 'escalate' });
      expect(path(world.ticket('p', id))).not.toContain('implement');
    }
    expect(hub.prompt('nothing', 'reproduce.2.1')).toContain('No test was committed');
    expect(hub.prompt('trivial', 'reproduce.2.1')).toContain('fail without the new test, too');
  });
});

describe('manual-pr', () => {
  it('pushes, waits until a person opens the pull request, and goes on from there', { tags: 'full' }, async ({
    world,
  }) => {
    const hub = new Hub(world, 'manual-pr');
    world.plan('p', { tickets: { ok: {}, gone: {}, quick: {} } });
    const told = join(world.dir, 'told');
    world.config({ notify: { command: `echo "$SIGNALBOX_EVENT_TEXT" >> '${told}'` } });
    const run = hub.start();
    for (const id of ['ok', 'gone', 'quick']) await hub.waits(id, 'await_pr');
    const opening = 'gh pr create --repo acme/web --base main --head ticket/p/ok';
    const saying = `there is no pull request for the branch yet; open it: ${opening}`;
    // While a look is under way the ticket is not on hold.
    const shown = await waitFor('the hold of ok', async () => {
      const { tickets } = JSON.parse((await hub.cli('status', 'p', '--json')).out) as Shown;
      return tickets.find(({ ticketId, hold }) => ticketId === 'ok' && hold);
    });
    expect([shown.why, shown.next]).toEqual([`await_pr: ${saying}`, 'continues once that is done']);
    expect(hub.pulls()).toEqual([]);
    // Paused, so that it is not looked at between its opening and its merge.
    expect((await hub.cli('pause', 'p', 'quick')).code).toBe(0);
    for (const [index, id] of ['ok', 'gone', 'quick'].entries()) hub.opens(id, index + 1, id === 'ok');
    await hub.change('gone', (pull) => Object.assign(pull, { state: 'CLOSED' }));
    await hub.merge('quick');
    expect((await hub.cli('resume', 'p', 'quick')).code).toBe(0);
    await hub.ends('gone');
    expect(world.ticket('p', 'ok').currentPhase).toBe('await_pr');
    await hub.change('ok', (pull) => Object.assign(pull, { isDraft: false }));
    await hub.waits('ok', 'await_review');
    await hub.review('ok', 'CHANGES_REQUESTED', 'Name it better.');
    await hub.waits('ok', 'await_review', 2);
    await hub.review('ok', 'APPROVED');
    await hub.waits('ok', 'await_merge');
    await hub.merge('ok');
    await run.ended;
    const begin = ['setup', 'implement', 'self_review:pass', 'simplify', 'verify', 'push_branch'];
    expect(path(world.ticket('p', 'ok'))).toEqual([
      ...begin,
      ...['await_pr:open', 'await_review:changes', 'catch_up', 'handle_review', 'reverify', 'answer_review'],
      ...['await_review:approved', 'await_merge:merged', 'cleanup'],
    ]);
    expect(path(world.ticket('p', 'quick'))).toEqual([...begin, 'await_pr:merged', 'cleanup']);
    expect(world.ticket('p', 'gone')).toMatchObject({ status: 'needs_attention', currentPhase: 'pr_closed' });
    expect(hub.pulls()).toHaveLength(3);
    const lines = readFileSync(told, 'utf8').split('\n');
    expect(
      lines.filter(
        (line) => /^p\/ok needs attention \(.*\): /.test(line) && line.endsWith(`: await_pr: ${saying}`),
      ),
    ).toHaveLength(1);
    expect(lines.filter((line) => line.includes('await_pr'))).toHaveLength(3);
  });
});

describe.concurrent('a base that conflicts with what landed beside it', () => {
  /** `signalbox/main` and main have each changed the same file since they parted. */
  function apart(world: World): void {
    for (const [branch, text] of [
      ['signalbox/main', 'landed'],
      ['main', 'by hand'],
    ] as const) {
      git(world.repo, 'switch', '--quiet', ...(branch === 'main' ? [branch] : ['--create', branch]));
      writeFileSync(join(world.repo, 'shared.txt'), text);
      git(world.repo, 'add', '--all');
      git(world.repo, 'commit', '--quiet', `--message=${text}`);
    }
  }
  const told = (world: World) => `Merge them by hand: git -C ${world.repo} merge signalbox/main`;

  it('ends local with a person, after one visit of the agent', async ({ world }) => {
    apart(world);
    world.plan('p', { workflow: 'local', agent: 'rehearsal', tickets: { a: {} } });
    await world.cli('run', 'p');
    const ticket = world.ticket('p', 'a');
    expect([...path(ticket), ticket.currentPhase].slice(-2)).toEqual(['integrate:refused', 'escalate']);
    expect(ticket).toMatchObject({ status: 'needs_attention', visits: { implement: 1 } });
    expect(ticket.error).toContain(told(world));
  });

  it('ends issue with a person, after one visit of the agent', { tags: 'full' }, async ({ world }) => {
    apart(world);
    writeFileSync(join(world.dir, 'a.md'), '# A thing\n\nDo it.\n');
    const flags = ['--agent', 'rehearsal', '--integrate', '--no-pr'];
    const { code, out, err } = await cliIn(world, world.repo, ['run', join(world.dir, 'a.md'), ...flags]);
    expect({ code, err }, out).toEqual({ code: 1, err: '' });
    const [id = ''] = readdirSync(join(world.stateDir, 'plans'));
    const ticket = world.ticket(id, 'a');
    expect([...path(ticket), ticket.currentPhase].slice(-2)).toEqual(['integrate:refused', 'escalate']);
    expect(ticket).toMatchObject({ status: 'needs_attention', visits: { exec: 1 } });
    expect(ticket.error).toContain(told(world));
  });
});

describe.concurrent('work that started from a commit on no branch', () => {
  variants(['a detached HEAD', 'a commit as base'])(
    '%s ends local with a person, after one visit of the agent',
    async (how, { world }) => {
      const base = git(world.repo, 'rev-parse', 'HEAD').trim();
      if (how === 'a detached HEAD') git(world.repo, 'switch', '--quiet', '--detach');
      const more = how === 'a detached HEAD' ? {} : { base };
      world.plan('p', { workflow: 'local', agent: 'rehearsal', ...more, tickets: { a: {} } });
      await world.cli('run', 'p');
      const ticket = world.ticket('p', 'a');
      expect([...path(ticket), ticket.currentPhase].slice(-2)).toEqual(['integrate:refused', 'escalate']);
      expect(ticket).toMatchObject({ status: 'needs_attention', visits: { implement: 1 } });
      expect(ticket.error).toContain(
        'it has no base branch to merge into. Check out the branch that should get it, then run git merge',
      );
    },
  );
});
