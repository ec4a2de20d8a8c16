import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { prepareSpecRun } from '../../../src/features/spec-runs/prepare-spec-run.ts';
import type { SpecRunRequest } from '../../../src/features/spec-runs/run-request-ticks-and-halt.ts';
import { startSpecRun } from '../../../src/features/spec-runs/start-or-resume-run.ts';
import { HeldError } from '../../../src/model/errors.ts';
import { partsOf } from '../../engine/parts.ts';
import { git, it, put, runSpec, tasks, type World, work, writeSpec } from './support.ts';

const flags = ['--no-tmux', '--delay', '0'];
const request = (dir: string): SpecRunRequest => ({
  dir,
  workdir: null,
  cwd: dir,
  units: {},
  backend: null,
  assignBackend: null,
  base: null,
  delaySeconds: 0,
  maxIterations: 50,
  maxAttempts: 3,
  timeoutSeconds: null,
  stopOnFailure: true,
  inPlace: false,
  fresh: false,
  assignAll: false,
});

describe.concurrent('what a run of a spec is told to use', () => {
  it.for([
    ['--workdir', '/nope', '--workdir: The repository /nope does not exist', 'Name a git repository.'],
    ['--base', 'nope', '--base: The base branch nope does not exist', 'branch nope'],
    ['--delay', '1e9', 'Invalid --delay value: 1e9.', 'from 0 to 86400'],
  ] as const)('has to be there: %s', async ([flag, value, said, hint], { world }) => {
    const dir = writeSpec(world, tasks('One'));
    for (const more of [['--dry-run'], []]) {
      const { code, err } = await world.cli('spec', dir, '--no-tmux', flag, value, ...more);
      expect({ code, err }).toEqual({ code: 5, err: expect.stringContaining(said) });
      expect(err).toContain(hint);
      expect(err).not.toMatch(/of the plan|in the plan/);
    }
    expect(world.exists('home/state/plans/spec-limits/plan.json')).toBe(false);
  });

  it('is not a branch below one that is there', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One'));
    git(world.repo, 'branch', 'spec');
    const { code, err } = await world.cli('spec', dir, '--dry-run');
    expect(code).toBe(5);
    expect(err).toContain('The branch spec/limits cannot be there together with the branch spec.');
    expect(err).toContain(`git -C ${world.repo} branch -m spec spec-old`);
    git(world.repo, 'branch', '-m', 'spec', 'spec-old');
    expect((await runSpec(world, dir)).code).toBe(0);
  });
});

describe.concurrent('a run of a spec that begins', () => {
  it('together with another for the first time is refused, and the other is named', async ({ world }) => {
    const dir = writeSpec(world, tasks('One'));
    const [one, other] = [await partsOf(world), await partsOf(world)];
    const prepared = await Promise.all([one, other].map((parts) => prepareSpecRun(parts, request(dir))));
    const [first, second] = prepared as [(typeof prepared)[0], (typeof prepared)[0]];
    await startSpecRun(one, request(dir), first);
    const late = startSpecRun(other, request(dir), second);
    await expect(late).rejects.toThrow(`Spec "limits" is already being run by test (pid ${process.pid}`);
    await expect(late).rejects.toBeInstanceOf(HeldError);
  });

  it('together with one of the same name in another repository says so, and can be run again', async ({
    world,
  }) => {
    const dir = writeSpec(world, tasks('One'));
    const repo = join(world.dir, 'other');
    git(world.dir, 'clone', '--quiet', world.repo, repo);
    const dirs = [dir, join(repo, '.kiro/specs/limits')] as const;
    const [one, other] = [await partsOf(world), await partsOf(world)];
    const first = await prepareSpecRun(one, request(dirs[0]));
    const second = await prepareSpecRun(other, request(dirs[1]));
    await startSpecRun(one, request(dirs[0]), first);
    const late = startSpecRun(other, request(dirs[1]), second);
    await expect(late).rejects.toThrow(`Another spec "limits" was started at the same moment: ${dir}.`);
    const again = await prepareSpecRun(other, request(dirs[1]));
    expect(await startSpecRun(other, request(dirs[1]), again)).toBe('spec-limits-2');
  });

  it('while its unit waits for a usage limit says until when', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([{ when: { phase: 'implement' }, do: [{ say: 'Too much.' }, { limit: 900 }] }]);
    const dir = writeSpec(world, tasks('One'));
    const run = world.start(['spec', dir, ...flags]);
    await run.says('waits until');
    await run.kill('SIGKILL');
    const again = world.start(['spec', dir, ...flags]);
    await again.says('1 waits until');
    await again.kill('SIGKILL');
    const lines = world.start(['spec', dir, ...flags, '--json']);
    await lines.says('"kind":"limit"');
    await lines.kill('SIGTERM');
    const { code, out } = await lines.ended;
    const { exitCode } = JSON.parse(out.trimEnd().split('\n').at(-1) ?? '') as { exitCode: number };
    expect({ code, exitCode }).toEqual({ code: 143, exitCode: 143 });
  });

  it('in a checkout that is on the spec’s branch names the ways out, and they work', {
    tags: 'full',
  }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One', 'Two'));
    git(world.repo, 'switch', '--quiet', '--create', 'spec/limits');
    const { code, err } = await world.cli('spec', dir, ...flags);
    expect({ code, err }).toEqual({ code: 5, err: expect.stringContaining('is on spec/limits') });
    expect(err).toContain(`git -C ${world.repo} switch -`);
    expect(err).toContain('with --in-place.');
    expect((await runSpec(world, dir, '--in-place', '--only', '1')).code).toBe(0);
    git(world.repo, 'switch', '--quiet', '-');
    expect((await runSpec(world, dir, '--fresh')).code).toBe(0);
    expect(work(world, 'spec/limits-2')).toContain('Tick 2 of limits');
    git(world.repo, 'switch', '--quiet', 'spec/limits-2');
    expect((await runSpec(world, dir)).code).toBe(0);
    put(join(dir, 'tasks.md'), `${tasks('One', 'Two').replaceAll('[ ]', '[x]')}- [ ] 3. Three\n`);
    git(world.repo, 'commit', '--quiet', '--all', '--message=More');
    expect((await runSpec(world, dir)).err).toContain('--in-place --fresh');
    expect((await runSpec(world, dir, '--in-place', '--fresh')).code).toBe(0);
  });

  it('with an owner that is none says so', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One'));
    const assignments = { 1: { type: 'code', owner_agent: 'nobody' } };
    const text = JSON.stringify({ version: 1, specs: { limits: { assignments } } });
    put(join(dir, '..', 'SEQUENTIAL_STATE.json'), text);
    const { code, err } = await runSpec(world, dir);
    expect(code).toBe(0);
    expect(err).toContain('1 is given to "nobody", which is none of the owners (default)');
  });

  it('anew with an empty answer is refused', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([{ when: { phase: 'implement' }, do: [{ result: 'Which?\n<promise>HALT</promise>' }] }]);
    const dir = writeSpec(world, tasks('One'));
    await runSpec(world, dir);
    for (const answer of ['', '  ']) {
      const { code, err } = await world.cli('resume', '--no-tmux', '--answer', answer);
      expect({ code, err }).toEqual({ code: 5, err: expect.stringContaining('--answer is empty.') });
      expect(world.ticket('spec-limits', '1').hold?.kind).toBe('gate');
    }
  });
});

describe.concurrent('how long an agent of a spec may take', () => {
  const seconds = async (world: World, flags: Partial<SpecRunRequest>, config: Record<string, unknown>) => {
    world.config(config);
    const engine = await partsOf(world);
    const run = await prepareSpecRun(engine, { ...request(writeSpec(world, tasks('One'))), ...flags });
    const { phases } = JSON.parse(run.pinned[0]?.text ?? '').workflow as {
      phases: { id: string; timeoutSeconds?: number }[];
    };
    return ['assign', 'implement', 'review'].map(
      (id) => phases.find((each) => each.id === id)?.timeoutSeconds,
    );
  };

  it.for([
    ['two hours', {}, {}, [300, 7200, 7200]],
    ['timeouts.agentSeconds', {}, { timeouts: { agentSeconds: 900 } }, [300, 900, 900]],
    ['--timeout', { timeoutSeconds: 60 }, { timeouts: { agentSeconds: 900 } }, [60, 60, 60]],
    ['--timeout above the limit of assigning', { timeoutSeconds: 9000 }, {}, [300, 9000, 9000]],
  ] as const)('%s', async ([, flags, config, wanted], { world }) => {
    expect(await seconds(world, flags, config)).toEqual(wanted);
  });

  it('is a positive number of seconds, and counts', async ({ world }) => {
    const dir = writeSpec(world, tasks('One'));
    world.rehearsal([{ when: { phase: 'implement' }, do: [{ wait: 60 }] }]);
    const refused = await world.cli('spec', dir, ...flags, '--timeout', '0');
    expect(refused).toMatchObject({ code: 5, err: expect.stringContaining('Invalid --timeout value: 0.') });
    const { code, out } = await world.cli('spec', dir, ...flags, '--timeout', '1', '--max-attempts', '1');
    expect(code).toBe(2);
    expect(out).toContain('1 failed');
    const last = world.ticket('spec-limits', '1').phaseHistory.at(-1);
    expect(last).toMatchObject({ phase: 'implement', error: { class: 'timeout' } });
  });
});
