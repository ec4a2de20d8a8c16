import { describe, expect } from 'vitest';
import { git, it, story } from '../support/index.ts';

const VERDICT = {
  type: 'object',
  properties: { outcome: { type: 'string', enum: ['pass', 'fail'] }, summary: { type: 'string' } },
  required: ['outcome', 'summary'],
};

describe('success is evidence', () => {
  it.concurrent('exit 0 without a commit is a failure, and the next attempt is told why', async ({
    world,
  }) => {
    world.agent('agent', 'echo "All done!"; [ $SIGNALBOX_ATTEMPT = 1 ] || commit');
    const phase = { id: 'build', type: 'agent', expect: { commits: true, clean: true }, maxRetries: 1 };
    world.workflow('work', [
      { ...phase, prompt: 'Build.{% if previous_error %} Last time: {{ previous_error }}{% endif %}' },
    ]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(0);
    const ticket = world.ticket('p', 'a');
    expect(story(ticket)).toEqual(['build failure', 'build success']);
    const base = git(world.repo, 'rev-parse', '--short=7', 'main').trim();
    const reason = `expected at least 1 commit ahead of its base (${base}), found 0`;
    expect(ticket.phaseHistory[0]?.error).toEqual({ class: 'evidence', message: reason });
    expect(world.promptOf('p', 'a', 'build.1.1')).toBe('Build.');
    expect(world.promptOf('p', 'a', 'build.1.2')).toBe(`Build. Last time: ${reason}`);
  });

  it.concurrent('each kind of evidence is looked at by the engine itself', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent(
      'agent',
      `case $SIGNALBOX_TICKET in
         one-commit) commit;;
         dirty) commit; echo left > left.txt;;
         other-file) commit;;
         right-file) mkdir -p src; echo x > src/new.ts; commit;;
       esac`,
    );
    const agent = { type: 'agent', prompt: 'Build it.' };
    world.workflow('two', [{ ...agent, id: 'build', expect: { commits: 2 } }]);
    world.workflow('clean', [{ ...agent, id: 'build', expect: { clean: true } }]);
    world.workflow('files', [{ ...agent, id: 'build', expect: { files: ['src/**/*.ts'] } }]);
    world.plan('p', {
      tickets: {
        'one-commit': { workflow: 'two' },
        dirty: { workflow: 'clean' },
        'other-file': { workflow: 'files' },
        'right-file': { workflow: 'files' },
      },
    });
    await world.cli('run', 'p');
    expect(world.ticket('p', 'one-commit').error).toMatch(
      /expected at least 2 commits ahead of its base \(\w{7}\), found 1/,
    );
    expect(world.ticket('p', 'dirty').error).toContain('expected a clean tree, found uncommitted: left.txt');
    expect(world.ticket('p', 'other-file').error).toContain('expected a change in src/**/*.ts, found none');
    expect(world.ticket('p', 'right-file').status).toBe('complete');
  });

  it.concurrent('what a reading phase changed does not become the measure of its repetition', async ({
    world,
  }) => {
    world.agent('agent', '[ $SIGNALBOX_ATTEMPT = 1 ] && commit; echo looked');
    const review = { id: 'review', type: 'agent', prompt: 'Look.', access: 'read', maxRetries: 2 };
    world.workflow('work', [review]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    const ticket = world.ticket('p', 'a');
    expect(story(ticket)).toEqual(['review failure', 'review failure', 'review failure']);
    expect(ticket.error).toContain('may only read');
  });

  it.concurrent('a phase that may only read fails when it wrote, edited or committed', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent(
      'agent',
      `case $SIGNALBOX_PHASE-$SIGNALBOX_TICKET in
         look-writes) echo oops > oops.txt;;
         look-edits) echo oops >> README.md;;
         look-commits) commit;;
         look-reverts) echo oops > oops.txt; rm oops.txt;;
       esac`,
    );
    world.workflow('work', [{ id: 'look', type: 'agent', prompt: 'Look.', access: 'read' }]);
    world.plan('p', { tickets: { writes: {}, edits: {}, commits: {}, reverts: {}, reads: {} } });
    await world.cli('run', 'p');
    for (const id of ['writes', 'edits', 'commits']) {
      expect(world.ticket('p', id).phaseHistory, id).toMatchObject([
        { status: 'failure', error: { class: 'evidence' } },
      ]);
      expect(world.ticket('p', id).error).toContain('may only read');
    }
    for (const id of ['reverts', 'reads']) expect(world.ticket('p', id).status, id).toBe('complete');
  });

  it.concurrent('a phase that may only read is compared with the tree as it was before an engine died', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', 'echo oops > oops.txt; note wrote; go');
    world.workflow('work', [{ id: 'look', type: 'agent', prompt: 'Look.', access: 'read' }]);
    world.plan('p', { tickets: { a: {} } });
    const first = world.start(['run', 'p']);
    await world.call('wrote');
    await first.kill('SIGKILL');
    world.go();
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect(world.ticket('p', 'a').error).toContain('may only read');
    expect(world.calls('start')).toHaveLength(1);
  });

  it.concurrent('without a result, words of success are a failure, also for an agent without sessions that is asked once more', async ({
    world,
  }) => {
    world.agent(
      'agent',
      `case $SIGNALBOX_TICKET in
         prose) echo 'Review passed. {"outcome": "pass"} SUCCESS';;
         wrong) echo '<signalbox>{"outcome": "maybe", "summary": "hm"}</signalbox>';;
         partial) echo '<signalbox>{"outcome": "pass"}</signalbox>';;
         torn) echo '<signalbox>{"outcome": "pass", "summ</signalbox>';;
         lies) echo '<signalbox>{"outcome": "pass", "summary": "x"}</signalbox>'; exit 3;;
         good) echo '<signalbox>{"outcome": "pass", "summary": "fine"}</signalbox>';;
         bad) echo '<signalbox>{"outcome": "fail", "summary": "not yet"}</signalbox>';;
       esac`,
    );
    world.workflow('work', [
      {
        id: 'review',
        type: 'agent',
        prompt: 'Review.',
        output: VERDICT,
        on: { pass: 'done', fail: 'rework' },
        onFailure: 'person',
      },
      { id: 'rework', type: 'agent', prompt: 'Mend: {{ feedback }}', onSuccess: 'done' },
      { id: 'done', type: 'terminal' },
      { id: 'person', type: 'terminal', notify: true },
    ]);
    const ids = ['prose', 'wrong', 'partial', 'torn', 'lies', 'good', 'bad'];
    world.plan('p', { tickets: Object.fromEntries(ids.map((id) => [id, {}])) });
    await world.cli('run', 'p', '-c', '4');
    const problem: Record<string, string> = {
      prose: 'protocol',
      wrong: 'protocol',
      partial: 'protocol',
      torn: 'protocol',
      lies: 'exit',
    };
    for (const [id, kind] of Object.entries(problem)) {
      const ticket = world.ticket('p', id);
      expect(ticket, id).toMatchObject({ status: 'needs_attention', currentPhase: 'person' });
      expect(ticket.phaseHistory, id).toMatchObject([
        { phase: 'review', status: 'failure', error: { class: kind } },
      ]);
      expect(world.calls('start', { ticket: `p/${id}` }), id).toHaveLength(kind === 'protocol' ? 2 : 1);
    }
    expect(world.ticket('p', 'torn').error).toContain('between <signalbox> and </signalbox> is not JSON: ');
    expect(world.ticket('p', 'prose').error).toContain('there was no result');
    expect(world.ticket('p', 'good')).toMatchObject({
      status: 'complete',
      phaseHistory: [{ outcome: 'pass' }],
    });
    expect(story(world.ticket('p', 'bad'))).toEqual(['review success', 'rework success']);
    expect(world.promptOf('p', 'bad', 'rework.1.1')).toBe('Mend: not yet');
    expect(world.promptOf('p', 'good', 'review.1.1')).toContain('<signalbox>');
  });

  it.concurrent('a wrong result is mended in one more turn of the same session, and only one', async ({
    world,
  }) => {
    world.rehearsal([
      {
        when: { resumed: true, ticket: 'mended' },
        do: [{ result: { data: { outcome: 'pass', summary: 'now it fits' } } }],
      },
      { when: {}, do: [{ say: 'Looks good.' }, { result: { data: { outcome: 'pass' } } }] },
    ]);
    world.workflow('work', [
      {
        id: 'review',
        type: 'agent',
        agent: 'rehearsal',
        prompt: 'Review.',
        output: VERDICT,
        capture: { verdict: 'result.summary' },
        on: { pass: 'done', fail: 'done' },
      },
      { id: 'done', type: 'terminal' },
    ]);
    world.plan('p', { tickets: { mended: {}, stubborn: {} } });
    await world.cli('run', 'p');
    expect(world.ticket('p', 'mended')).toMatchObject({
      status: 'complete',
      context: { verdict: 'now it fits' },
    });
    const failed = world.ticket('p', 'stubborn');
    expect(failed).toMatchObject({
      status: 'failed',
      phaseHistory: [{ status: 'failure', error: { class: 'protocol' } }],
    });
    const dirs = world.jobDirs().filter((dir) => dir.includes('stubborn'));
    expect(dirs).toHaveLength(2);
    const repair = world.argvOf('p', 'stubborn', 'review.1.1.repair');
    expect(repair).toContain('--resume');
    expect(repair).toContain(failed.phaseHistory[0]?.sessionId);
    expect(world.promptOf('p', 'stubborn', 'review.1.1.repair')).toContain('could not be used');
  });

  it.concurrent('an agent that ends without its end event has not succeeded, whatever its exit code', async ({
    world,
  }) => {
    world.rehearsal([{ when: {}, do: [{ say: 'Almost…' }, { crash: { code: 0 } }] }]);
    world.workflow('work', [{ id: 'build', type: 'agent', agent: 'rehearsal', prompt: 'Build.' }]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect(world.ticket('p', 'a').phaseHistory).toMatchObject([
      { status: 'failure', error: { class: 'protocol' } },
    ]);
  });
});
