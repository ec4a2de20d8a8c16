import { describe, expect, it } from 'vitest';
import type { IssueResult, RunResult } from '../../../src/features/issue-runs/request-and-result-types.ts';
import { issueSummary } from '../../../src/report/issue-runs/summary-and-dry-run.ts';
import { style } from '../../../src/report/style-and-phrases.ts';
import { NOW, ticket } from '../../model/build.ts';

const failed = {
  issueNumber: 101,
  id: '101',
  success: false,
  abortReason: 'Phase exec failed',
  cause: 'the agent ended with exit code 3.',
  durationSeconds: 1,
  branch: 'feature/101-age',
  phaseResults: [{ phase: 'exec', success: false }],
  next: 'signalbox retry run-1 101 && signalbox resume run-1',
} as IssueResult;

const run = {
  results: [failed],
  planId: 'run-1',
  exitCode: 1,
  wallClockDurationSeconds: 2,
  logPath: null,
  config: { integrate: false },
};
const said = (columns?: number, results = [failed]) =>
  issueSummary({ ...run, results } as unknown as RunResult, style(false), columns).join('\n');

describe('what a run came to', () => {
  it('is a table and a line where there is room, or nothing has to fit', () => {
    const whole = said();
    expect(whole.split('\n')).toEqual([
      '',
      '   issue  time  branch           why',
      '✗  #101   1s    feature/101-age  Phase exec failed: the agent ended with exit code 3.',
      '',
      '0 of 1 done · 1 needs you · 2s',
      '#101: see signalbox logs run-1 101; continue with: signalbox retry run-1 101 && signalbox resume run-1',
    ]);
    expect(said(120)).toBe(whole);
  });

  it('has one command for several failures', () => {
    const many = ['1', '2'].map((id) => ({
      ...failed,
      id,
      issueNumber: Number(id),
      next: `signalbox retry run-1 ${id} && signalbox resume run-1`,
    }));
    expect(said(undefined, many).split('\n').slice(-3)).toEqual([
      '0 of 2 done · 2 need you · 2s',
      'To see why: signalbox logs --failed run-1',
      'To retry the 2 failed: signalbox retry --failed run-1 && signalbox resume run-1',
    ]);
  });

  it('has one command for a run that was stopped elsewhere, and one that shows its work', () => {
    const stopped = ['1', '2'].map((id) => ({
      ...failed,
      id,
      issueNumber: Number(id),
      stopped: true,
      next: 'signalbox resume run-1',
    }));
    const base = { ref: 'main', commit: 'c0ffee' };
    const result = { ...run, results: stopped } as unknown as RunResult;
    const lines = issueSummary(result, style(false), undefined, undefined, (ticketId) =>
      ticket({ ticketId, base }),
    );
    expect(lines.slice(-2)).toEqual([
      'To look at what #1 has done so far: signalbox diff run-1 1',
      'Stopped. Continue with: signalbox resume run-1',
    ]);
  });

  it('has a command for each decision of a gate', () => {
    const answers = ['approve', 'reject'].map(
      (each) => `signalbox respond run-1 101 ${each} && signalbox resume run-1`,
    );
    const waits = { ...failed, phaseResults: [], waiting: true, next: answers[0] ?? '', answers };
    expect(said(undefined, [waits]).split('\n').slice(-2)).toEqual([
      `#101: continue with: ${answers[0]}`,
      `  or: ${answers[1]}`,
    ]);
  });

  it('of a cancelled run names commands that an archived plan takes', () => {
    const done = { ...failed, id: '100', issueNumber: 100, success: true, next: undefined };
    const result = { ...run, results: [done, failed], cancelled: true } as unknown as RunResult;
    expect(issueSummary(result, style(false)).slice(-3)).toEqual([
      'The work is on its branch. To look at it: signalbox diff run-1 100',
      'To merge it: signalbox integrate run-1 100',
      'This run was cancelled. To bring back an issue: signalbox retry run-1 101 && signalbox resume run-1',
    ]);
  });

  it('offers no branch without commits, and has one command for pull requests', () => {
    const done = { ...failed, id: '100', issueNumber: 100, success: true, next: undefined };
    const said = (results: object[], onBranch?: (id: string) => boolean) =>
      issueSummary({ ...run, results } as unknown as RunResult, style(false), undefined, onBranch).join('\n');
    expect(said([done])).toContain('signalbox merge run-1');
    expect(said([done], () => false)).not.toContain('signalbox');
    const pull = (id: string) => ({ ...done, id, prUrl: `https://github.com/acme/web/pull/${id}` });
    expect(said([pull('1')])).toMatch(/\nTo merge the pull request: signalbox merge run-1 --pr$/);
    expect(said([pull('1'), pull('2')])).toMatch(
      /\nTo see the 2 pull requests: signalbox status run-1\nTo merge them: signalbox merge run-1 --pr$/,
    );
  });

  it('says where unfinished work is, and counts what was cancelled as that', () => {
    const two = [
      failed,
      { ...failed, id: '102', next: 'signalbox retry run-1 102 && signalbox resume run-1' },
    ];
    const base = { ref: 'main', commit: 'c' };
    const of = (results: object[], cancelledAt?: string) =>
      issueSummary({ ...run, results } as unknown as RunResult, style(false), 80, undefined, (ticketId) =>
        ticket({ ticketId, status: 'failed', base, cancelledAt }),
      ).join('\n');
    expect(of(two)).toContain('✗  2 issues');
    expect(of(two)).toContain('\nTo look at what #101 has done so far: signalbox diff run-1 101\n');
    expect(of([{ ...failed, next: undefined }], NOW)).toContain('0 of 1 done · 1 cancelled · 2s');
  });

  it('has the way out at the end of a long reason', () => {
    const long = [{ ...failed, cause: `${'origin said no, '.repeat(20)}then: signalbox retry` }];
    expect(said(undefined, long)).toContain('then: signalbox retry');
    expect(said(1000, long)).toMatch(/(origin said no, ){17}.*…/);
  });

  it('counts what a newer run has as superseded, not as failed', () => {
    const reason = 'superseded by run-2';
    const row = { ...failed, stopped: true, superseded: true, abortReason: reason, phaseResults: [] };
    const { next: _next, cause: _cause, ...gone } = row;
    const text = said(undefined, [failed, gone]);
    expect(text).toContain('‖  #101   1s    feature/101-age  superseded by run-2');
    expect(text).toContain('0 of 2 done · 1 needs you · 1 superseded · 2s');
  });

  it('can be read in 40 columns, its commands copied', () => {
    expect(said(40).split('\n')).toEqual([
      '',
      '   issue  time  branch',
      '✗  #101   1s    feature/101-age',
      '   Phase exec failed: the agent ended',
      '   with exit code 3.',
      '',
      '0 of 1 done · 1 needs you · 2s',
      '#101: continue with:',
      '  signalbox retry run-1 101 &&',
      '    signalbox resume run-1',
      '  and see:',
      '  signalbox logs run-1 101',
    ]);
  });
});
