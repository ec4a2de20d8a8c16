import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { ManifestOfRun, RunOptions } from '../../src/features/issue-runs/request-and-result-types.ts';
import {
  EXEC,
  EXEC_FLAGS,
  git,
  IssueWorld,
  inCode,
  it,
  lower,
  NumberedWorld,
  type World,
} from '../features/issue-runs/support.ts';
import { variants } from '../support/index.ts';

/** Package managers that write down that they were called. */
function managers(world: World, ...names: string[]): NodeJS.ProcessEnv {
  const bin = join(world.dir, 'managers');
  mkdirSync(bin);
  for (const name of names) {
    writeFileSync(join(bin, name), `#!/bin/sh\necho "${name} $*" >> '${join(world.dir, 'installed')}'\n`);
    chmodSync(join(bin, name), 0o755);
  }
  return { PATH: `${bin}:${world.env.PATH}` };
}

const installed = (world: World) => readFileSync(join(world.dir, 'installed'), 'utf8').trim().split('\n');

describe.concurrent('the manifest of a run', () => {
  variants([
    [{ stack: 'node', packageManager: 'npm' }, 'npm'],
    [{ stack: 'node', packageManager: 'pnpm' }, 'pnpm'],
    [undefined, 'pnpm'],
  ] as const)(
    '%j says who installs what the worktrees need, and is in the log',
    async ([given, by], { world }) => {
      world.agent('agent', 'commit');
      const issues = new IssueWorld(world, managers(world, 'npm', 'pnpm')).write('a.md', '# A\n');
      for (const name of ['package.json', 'package-lock.json', 'pnpm-lock.yaml']) issues.write(name, '{}\n');
      const run = await inCode(issues, { options: { ...EXEC }, ...(given ? { manifest: given } : {}) }, [
        'a.md',
      ]);
      expect(run.results).toMatchObject([{ success: true }]);
      expect(installed(world)).toEqual([
        by === 'npm' ? 'npm ci --no-audit --no-fund' : 'pnpm install --frozen-lockfile',
      ]);
      expect(issues.log(run.planId ?? '').config).toMatchObject({ stack: 'node', packageManager: by });
    },
  );

  it('is what init wrote down, also for the command line', async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world, managers(world, 'npm', 'pnpm')).write('a.md', '# A\n');
    for (const name of ['package.json', 'package-lock.json', 'pnpm-lock.yaml']) issues.write(name, '{}\n');
    mkdirSync(join(world.repo, '.signalbox'));
    const file = join(world.repo, '.signalbox', 'manifest.json');
    writeFileSync(file, '{"version": 1, "stack": "node", "packageManager": "npm"}');
    const flags = ['--phases', 'exec', '--no-smart-tests', '--no-pr'];
    expect((await issues.cli('run', 'a.md', ...flags)).code).toBe(0);
    expect(installed(world)).toEqual(['npm ci --no-audit --no-fund']);
    writeFileSync(file, '{');
    const { code, err } = await issues.cli('run', 'a.md', '--force', ...flags);
    expect(code).toBe(2);
    expect(err).toContain('manifest.json: it is not JSON');
  });

  it('is not asked what to install: each worktree has its own lock file, or none', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'case "$PWD" in *-one) echo 1 > package.json; echo 1 > yarn.lock;; esac; commit');
    const issues = new IssueWorld(world, managers(world, 'npm', 'yarn'))
      .write('.gitignore', '.signalbox\npackage-lock.json\n')
      .write('one.md', '# One\n')
      .write('two.md', '# Two\n', { dependsOn: ['one'] });
    writeFileSync(join(world.repo, 'package-lock.json'), '{}\n');
    const { code, out, err } = await issues.cli('run', 'one.md', 'two.md', ...EXEC_FLAGS);
    expect(code).toBe(0);
    expect(installed(world)).toEqual(['yarn install --frozen-lockfile']);
    expect(
      `${out}${err}`.match(/Nothing was installed: package-lock.json is in your checkout/g),
    ).toHaveLength(1);
  });

  it('that cannot install fails the issue with the cause, in the table too', async ({ world }) => {
    const env = managers(world, 'npm');
    const npm = join(world.dir, 'managers', 'npm');
    writeFileSync(
      npm,
      '#!/bin/sh\necho "npm error code E404"\necho "npm error 404 No match for left-pad"\nexit 1\n',
    );
    const issues = new IssueWorld(world, env).write('a.md', '# A\n').write('package-lock.json', '{}\n');
    const { code, out } = await issues.cli('run', 'a.md', ...EXEC_FLAGS);
    expect(code).toBe(1);
    const row = out.split('\n').find((line) => line.startsWith('✗  a'));
    expect(row).toMatch(/npm ci .* ended with exit code 1: npm error 404 No match for left-pad/);
    expect(row).not.toContain('It printed');
    expect(out).not.toContain('hooks.afterCreate');
  });

  it.for([
    ['npm', 'manifest'],
    [{ stack: 3 }, 'manifest.stack'],
    [{ stack: null, packageManager: ['npm'] }, 'manifest.packageManager'],
  ] as const)('is refused where it says nothing: %j', async ([manifest, name], { world }) => {
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const bad = { options: { ...EXEC }, manifest: manifest as unknown as ManifestOfRun };
    await expect(inCode(issues, bad, ['a.md'])).rejects.toMatchObject({
      name: 'InputError',
      message: `${name} is neither text nor null.`,
    });
    expect(issues.runs()).toEqual([]);
  });
});

describe.concurrent('what RunOrchestrator.execute is given', () => {
  it('takes groups from the options', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit');
    const told: string[] = [];
    const orchestrator = await lower(
      new IssueWorld(world),
      { batch: ['3', '2,1'], concurrency: 1 },
      {
        onProgress: (issue, phase, event) => {
          if (phase === 'exec' && event === 'start') told.push(String(issue));
        },
      },
    );
    const results = await orchestrator.execute([1, 2, 3]);
    expect(results.every(({ success }) => success)).toBe(true);
    expect(told).toEqual(['3', '1', '2']);
  });

  it('refuses options that its configuration was not made of', async ({ world }) => {
    const issues = new IssueWorld(world);
    const chained = await lower(issues, {}, { options: { chain: true } });
    await expect(chained.execute([1])).rejects.toThrow('options.chain is true, but config.chain is not.');
    const unknown = await lower(issues, {}, { options: { nonsense: true } as RunOptions });
    await expect(unknown.execute([1])).rejects.toThrow('There is no option "nonsense".');
    const stranger = await lower(issues, { batch: ['1', '9'] });
    await expect(stranger.execute([1])).rejects.toThrow(
      'options.batch names 9, which is not to be executed.',
    );
  });

  it('makes up no issue of which it knows nothing: it is read, or refused', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'commit');
    const issues = new NumberedWorld(world, { number: 55, title: 'Fix the clock', body: 'It is late.' });
    const env = { ...world.env, ...issues.env };
    const said = { title: ' ', labels: [] };
    for (const issueInfoMap of [new Map(), new Map([[55, said]])]) {
      const orchestrator = await lower(issues, {}, { env, issueInfoMap });
      expect(await orchestrator.execute([55])).toMatchObject([
        { issueNumber: 55, title: 'Fix the clock', success: true, branch: 'feature/55-fix-the-clock' },
      ]);
    }
    const unknown = await lower(issues, {}, { env, issueInfoMap: new Map() });
    await expect(unknown.execute([56])).rejects.toMatchObject({ name: 'InputError', code: 'run/reference' });
    expect(git(world.repo, 'branch', '--list', 'feature/56*')).toBe('');
  });

  it('stops when its shutdown manager does, or its signal', async ({ world }) => {
    world.agent('agent', 'note working; go; commit');
    const shutdown = new AbortController();
    const services = { shutdownManager: { signal: shutdown.signal } };
    const orchestrator = await lower(
      new IssueWorld(world),
      {},
      { services, signal: new AbortController().signal },
    );
    const results = orchestrator.execute([1]);
    await world.call('working');
    shutdown.abort();
    expect(await results).toMatchObject([{ success: false, abortReason: 'stopped by the caller' }]);
  });

  it('starts from its own base, and tells once which phases are ahead', async ({ world }) => {
    world.agent('agent', 'test -e b.md || exit 7; commit');
    const issues = new IssueWorld(world);
    git(world.repo, 'switch', '--quiet', '--create', 'develop');
    issues.write('b.md', 'x\n');
    git(world.repo, 'switch', '--quiet', 'main');
    const told: unknown[] = [];
    const onPhasePlan = (issue: number | string, phases: readonly string[]) => {
      told.push([issue, phases]);
      throw new Error('the caller is broken');
    };
    const orchestrator = await lower(issues, {}, { baseBranch: 'develop', onPhasePlan });
    expect(await orchestrator.execute([1])).toMatchObject([{ success: true }]);
    expect(told).toEqual([[1, ['exec', 'checks']]]);
  });
});
