import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { git, it, NumberedWorld, titled, type World } from './support.ts';

const FLAGS = ['--phases', 'exec,qa', '--no-pr', '--plain'];

/** A program of this world, and the path that it is found by. */
function program(world: World, name: string, text: string): string {
  const bin = join(world.dir, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
  chmodSync(join(bin, name), 0o755);
  return `${bin}:${world.env.PATH}`;
}

/** A go that writes down what it is called with, and fails when it is to test everything and the work broke it. */
function withGo(world: World): NumberedWorld {
  const text = `echo "go $*" >> ${world.dir}/calls; [ "$2" != ./... ] || [ ! -e broken ]`;
  const issues = new NumberedWorld(world, ...titled(1));
  issues.env.PATH = program(world, 'go', text);
  issues.write('go.mod', 'module x\n');
  git(world.repo, 'push', '--quiet', 'origin', 'main');
  return issues;
}

describe.concurrent('checks before the verdict', () => {
  it.for([
    ['fail when a test far from the change does', ['broken', 'pkg/a.go'], 1],
    ['pass when all tests do', ['pkg/a.go'], 0],
  ] as const)('%s, in a project without package.json', async ([, files, code], { world }) => {
    const issues = withGo(world);
    world.rehearsal([
      {
        when: { phase: 'exec' },
        do: [...files.map((path) => ({ write: { path, text: 'x' } })), { commit: 'Work' }],
      },
    ]);
    const ended = await issues.cli('run', '1', ...FLAGS);
    expect(ended.code, ended.out + ended.err).toBe(code);
    expect(readFileSync(join(world.dir, 'calls'), 'utf8')).toBe('go test ./pkg\ngo test ./...\n');
    expect(ended.out).toContain(code ? '● #1: checks ✗' : '● #1: checks ✓');
    expect(ended.out).not.toContain('No checks');
  });

  it('that found nothing to run are not shown as passed', async ({ world }) => {
    const issues = new NumberedWorld(world, ...titled(1));
    const { out, code } = await issues.cli('run', '1', ...FLAGS);
    expect(code).toBe(0);
    expect(out).toMatch(
      /● #1: checks – \(\d+s\)\n {2}#1 {3}No checks are configured and the project has none of its own\.\n/,
    );
    // The table at the end.
    expect(out).toMatch(/^✓ +#1 .*No checks are configured/m);
  });

  it('say what is not installed and what to do', async ({ world }) => {
    new NumberedWorld(world).write('pytest.ini', '');
    writeFileSync(join(world.repo, 'test_a.py'), 'def test_a(): pass\n');
    const env = { PATH: program(world, 'python3', 'exit 1') };
    const { code, err } = await world.invoke(['checks'], env, world.repo).ended;
    expect(code).toBe(1);
    expect(err).toContain(
      'pytest is not installed, so the tests cannot be run. Install it, or name the checks in the setting checks.',
    );
    const related = await world.invoke(['checks', '--related'], env, world.repo).ended;
    expect(related).toMatchObject({ code: 0, out: expect.stringContaining('pytest is not installed') });
  });
});
