import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { readLog } from '../../../../src/features/issue-runs/logs/read-and-rotate-logs.ts';
import { EXEC_FLAGS, IssueWorld, it } from '../support.ts';

type Broken = Record<string, never> & { issues: Record<string, never>[] };

const ODD: [string, (log: Broken) => unknown, string][] = [
  ['no-config', ({ config: _, ...rest }) => rest, 'config is missing'],
  ['mode', (log) => ({ ...log, config: { mode: 5 } }), 'config.mode is 5, not a text'],
  ['null-issue', (log) => ({ ...log, issues: [null] }), 'issues[0] is null, not an object'],
  ['no-list', (log) => ({ ...log, issues: {} }), 'issues is an object, not a list'],
  ['no-phases', withIssue({ phaseResults: null }), 'issues[0].phaseResults is null, not a list'],
  ['null-phase', withIssue({ phaseResults: [null] }), 'issues[0].phaseResults[0] is null, not an object'],
  ['seconds', withIssue({ durationSeconds: '9' }), 'issues[0].durationSeconds is a text, not a number'],
  [
    'tokens',
    withIssue({ usage: { inputTokens: '5' } }),
    'issues[0].usage.inputTokens is a text, not a number',
  ],
  ['version', (log) => ({ ...log, version: 2 }), 'version is 2, not 1'],
  ['nothing', () => null, 'it is null, not an object'],
];

function withIssue(more: Record<string, unknown>) {
  return (log: Broken) => ({ ...log, issues: [{ ...log.issues[0], ...more }] });
}

describe.concurrent('a log of another shape', () => {
  it('is named with the reason and holds back no other', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    expect((await issues.cli('run', 'a.md', ...EXEC_FLAGS)).code).toBe(0);
    const [run = ''] = issues.runs();
    const dir = join(world.repo, '.signalbox', 'logs');
    const text = readFileSync(join(dir, `${run}.json`), 'utf8');
    expect(readLog(join(dir, `${run}.json`))).toEqual({ log: JSON.parse(text) });
    for (const [name, change] of ODD)
      writeFileSync(join(dir, `run-odd-${name}.json`), JSON.stringify(change(JSON.parse(text))));
    writeFileSync(join(dir, 'run-odd-cut.json'), text.slice(0, -20));
    const stats = await issues.cli('stats');
    expect(stats.code).toBe(0);
    expect(stats.out).toMatch(/^1 run\n/);
    const said = stats.err.trimEnd().split('\n');
    expect(said).toHaveLength(ODD.length + 1);
    expect(said).toEqual(
      expect.arrayContaining([
        ...ODD.map(([name, , reason]) => `! run-odd-${name}.json could not be read: ${reason}`),
        expect.stringMatching(/^! run-odd-cut\.json could not be read: \S/),
      ]),
    );
    const csv = await issues.cli('stats', '--csv');
    expect(csv.out.trimEnd().split('\n')).toHaveLength(2);
    expect(csv.err).toBe(stats.err);
    const json = await issues.cli('stats', '--json');
    expect(json.err).toBe('');
    expect(JSON.parse(json.out)).toMatchObject({ runs: 1, issues: { total: 1, passed: 1 } });
    expect(JSON.parse(json.out).unreadable).toContainEqual({
      file: 'run-odd-no-config.json',
      reason: 'config is missing',
    });
  });

  it('does not keep its run from going on', async ({ world }) => {
    world.agent('agent', 'note working; go; commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const first = issues.start('run', 'a.md', ...EXEC_FLAGS);
    await world.call('working');
    await first.kill('SIGINT');
    const [run = ''] = issues.runs();
    const file = join(world.repo, '.signalbox', 'logs', `${run}.json`);
    writeFileSync(file, JSON.stringify({ ...issues.log(run), issues: [null] }));
    world.go();
    const { code, err } = await issues.cli('resume');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(issues.log(run)).toMatchObject({ issues: [{ id: 'a', status: 'success' }] });
  });
});
