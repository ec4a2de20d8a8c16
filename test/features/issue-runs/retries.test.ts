import { describe, expect } from 'vitest';
import { IssueWorld, inCode, it, NumberedWorld, story, titled } from './support.ts';

const FAIL = [{ fail: { class: 'crash', message: 'no' } }];

describe.concurrent('retries', () => {
  it('are one for spec, after 5 s, and none for anything else', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([
      { when: { phase: 'spec', attempt: 1 }, do: FAIL },
      { when: { phase: 'exec' }, do: FAIL },
    ]);
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const run = await inCode(issues, {}, ['a.md']);
    const ticket = world.ticket(run.planId ?? '', 'a');
    expect(story(ticket)).toEqual(['spec failure', 'spec success', 'testgen skipped', 'exec failure']);
    const [failed, repeated] = ticket.phaseHistory;
    const pause = Date.parse(repeated?.startedAt ?? '') - Date.parse(failed?.completedAt ?? '');
    expect(pause).toBeGreaterThanOrEqual(4990);
    expect(run.results[0]).toMatchObject({ abortReason: 'Phase exec failed', failureCategory: 'crash' });
  });

  it('are none at all with retry off, whatever fails', async ({ world }) => {
    world.rehearsal([
      { when: { ticket: '1', phase: 'spec' }, do: FAIL },
      { when: { ticket: '2', phase: 'qa' }, do: FAIL },
    ]);
    const issues = new NumberedWorld(world, ...titled(1, 2, 3));
    issues.bench.gh.fail({ call: 'pr list', times: null, stderr: 'HTTP 502: Bad Gateway\n' });
    const run = await issues.library({ options: { retry: false, smartTests: false } }, ['1', '2', '3']);
    const ran = (id: string) =>
      story(world.ticket(run.planId ?? '', id)).filter((attempt) => !attempt.endsWith(' skipped'));
    expect(ran('1')).toEqual(['spec failure']);
    expect(ran('2')).toEqual(['spec success', 'exec success', 'checks success', 'qa failure']);
    expect(ran('3').slice(-2)).toEqual(['qa success', 'pull_request failure']);
    expect(run.results.map(({ abortReason }) => abortReason)).toEqual([
      'Phase spec failed',
      'Phase qa failed',
      'Phase pull_request failed',
    ]);
    expect(run.results[2]?.phaseResults.at(-1)?.error).toContain('502');
  });
});
