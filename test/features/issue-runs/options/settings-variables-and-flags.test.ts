import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { IssueWorld, it, linesOf, refusal, type World } from '../support.ts';

interface Shown {
  config: Record<string, unknown>;
  dryRun: { phases: string[] }[];
}

function project(world: World, settings: string): IssueWorld {
  const issues = new IssueWorld(world).write('a.md', '# A\n').write('b.md', '# B\n');
  mkdirSync(join(world.repo, '.signalbox'), { recursive: true });
  writeFileSync(join(world.repo, '.signalbox', 'settings.json'), settings);
  return issues;
}

const run = ({ world }: IssueWorld, env: NodeJS.ProcessEnv, ...flags: readonly string[]) =>
  world.invoke(['run', 'a.md', 'b.md', ...flags], env, world.repo).ended;

async function shown(issues: IssueWorld, env: NodeJS.ProcessEnv, ...flags: string[]): Promise<Shown> {
  const { out, err } = await run(issues, env, '--dry-run', '--json', ...flags);
  const [line] = linesOf<Shown>(out);
  if (!line) throw new Error(err);
  return line;
}

describe.concurrent('on the command line', () => {
  it('settings of the project count, variables go before them, flags before both', { tags: 'full' }, async ({
    world,
  }) => {
    const settings = `{ // ours
      "run": { "concurrency": 5, "qualityLoop": true, "maxIterations": 7, "testgen": true } }`;
    const issues = project(world, settings);
    const { config, dryRun } = await shown(issues, {});
    expect(config).toMatchObject({
      concurrency: 5,
      qualityLoop: true,
      maxIterations: 7,
      noSmartTests: false,
    });
    expect(dryRun[0]?.phases).toEqual(['spec', 'testgen', 'exec', 'smart_tests', 'checks', 'qa']);

    const variables = {
      SIGNALBOX_QUALITY_LOOP: 'false',
      SIGNALBOX_MAX_ITERATIONS: '2',
      SIGNALBOX_SMART_TESTS: 'false',
      SIGNALBOX_TESTGEN: 'false',
    };
    const overridden = await shown(issues, variables);
    expect(overridden.config).toMatchObject({ concurrency: 5, qualityLoop: false, maxIterations: 2 });
    expect(overridden.dryRun[0]?.phases).toEqual(['spec', 'exec', 'checks', 'qa']);

    const flags = [
      '--quality-loop',
      '--max-iterations',
      '4',
      '--smart-tests',
      '--testgen',
      '--concurrency',
      '2',
    ];
    const asked = await shown(issues, variables, ...flags);
    expect(asked.config).toMatchObject({ concurrency: 2, qualityLoop: true, maxIterations: 4 });
    expect(asked.dryRun[0]?.phases).toEqual(['spec', 'testgen', 'exec', 'smart_tests', 'checks', 'qa']);
  });

  it('variables alone switch the loop and test generation on', { tags: 'full' }, async ({ world }) => {
    const variables = { SIGNALBOX_QUALITY_LOOP: 'true', SIGNALBOX_TESTGEN: '1' };
    const { config, dryRun } = await shown(project(world, '{}'), variables);
    expect(config).toMatchObject({ qualityLoop: true, maxIterations: 3, concurrency: 3 });
    expect(dryRun[0]?.phases).toContain('testgen');
  });

  it.for([
    [
      'a flag',
      '{}',
      {},
      ['--concurrency', '-1'],
      'Invalid --concurrency value: -1. Must be a positive integer.',
    ],
    [
      'a flag',
      '{}',
      {},
      ['--concurrency', 'abc'],
      'Invalid --concurrency value: abc. Must be a positive integer.',
    ],
    [
      'a setting',
      '{"run": {"concurrency": 0}}',
      {},
      [],
      'settings.json:1:25: run.concurrency: Invalid --concurrency value: 0. Must be a positive integer.',
    ],
    [
      'a variable',
      '{}',
      { SIGNALBOX_MAX_ITERATIONS: 'many' },
      [],
      'SIGNALBOX_MAX_ITERATIONS: Invalid --max-iterations value: many. Must be a positive integer.',
    ],
  ] as const)(
    '%s that cannot be meant is refused: %s %j %j',
    async ([, settings, env, flags, message], { world }) => {
      const issues = project(world, settings);
      const ended = await run(issues, env, ...flags);
      expect(ended.code).toBe(2);
      expect(refusal(ended)).toContain(message);
      expect(issues.runs()).toEqual([]);
    },
  );
});
