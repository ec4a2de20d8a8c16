import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { environment, run, scratch } from './cli.ts';
import { BLOCKS, ROOT } from './markdown.ts';

const blocks = BLOCKS.filter(({ lang }) => lang === 'js');

let home: string;
let project: string;
let env: NodeJS.ProcessEnv;

/** A project that has the package linked in, two issues as files, and every example. */
beforeAll(async () => {
  home = scratch();
  project = join(home, 'project');
  env = { ...environment(home), SIGNALBOX_HOME: join(home, 'signalbox'), SIGNALBOX_AGENT: 'rehearsal' };
  mkdirSync(join(project, 'node_modules'), { recursive: true });
  mkdirSync(join(project, 'issues'));
  symlinkSync(ROOT, join(project, 'node_modules', 'signalbox'));
  cpSync(join(ROOT, 'examples'), join(project, 'examples'), { recursive: true });
  const put = (path: string, text: string) => writeFileSync(join(project, path), text);
  put('.gitignore', 'node_modules\n.signalbox\n');
  put('package.json', '{ "name": "project", "private": true, "type": "module" }\n');
  put(
    'issues/cache.md',
    '# Cache the answers\n\n## Acceptance criteria\n\n- [ ] a second call asks nobody\n',
  );
  put(
    'issues/age.md',
    '---\ndependsOn: [cache]\n---\n# Show the age\n\n## Acceptance criteria\n\n- [ ] the age is printed\n',
  );
  for (const [index, { text }] of blocks.entries()) put(`block-${index}.mjs`, text);
  for (const args of [
    ['init', '-q', '-b', 'main'],
    ['add', '-A'],
    ['commit', '-q', '-m', 'Begin'],
  ])
    expect((await run('git', args, { cwd: project, env })).code).toBe(0);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const FILES = ['issues/cache.md', 'issues/age.md'];
/** Each in a state directory of its own, so that nothing is done before. */
const play = (file: string, ...args: string[]) =>
  run(process.execPath, [file, ...args], {
    cwd: project,
    env: { ...env, SIGNALBOX_HOME: join(home, file.replaceAll('/', '-')) },
  });

describe('examples', () => {
  it('are these, and each is run here', () => {
    expect(readdirSync(join(ROOT, 'examples')).sort()).toEqual([
      'ci.mjs',
      'low-level.mjs',
      'progress.mjs',
      'tool.mjs',
    ]);
  });

  it('ci.mjs says how each issue ended and passes the exit code on', { tags: 'full' }, async () => {
    const { code, out, err } = await play('examples/ci.mjs', ...FILES);
    expect(err).toBe('');
    expect(out).toBe(
      'cache passed (feature/cache-cache-the-answers)\nage passed (feature/age-show-the-age)\n',
    );
    expect(code).toBe(0);
  });

  it.each(['ci.mjs', 'progress.mjs'])('%s tells wrong input in its words alone', async (name) => {
    const { code, err } = await play(`examples/${name}`);
    expect(err).toBe('No issue was named.\nFor example: signalbox run 100 101\n');
    expect(code).toBe(2);
  });

  it('progress.mjs shows every phase, and the one that waits after the one it waits for', {
    tags: 'full',
  }, async () => {
    const { code, out, err } = await play('examples/progress.mjs', ...FILES);
    expect(err).toBe('');
    expect(out).toMatch(/^A node project\ncache spec start\ncache spec complete after \d/);
    expect(out.indexOf('age spec start')).toBeGreaterThan(out.indexOf('cache qa complete'));
    expect(out).toMatch(/2 of 2 passed, \d+ events, log in .*\.signalbox\/logs\/run-[\w-]+\.json\n$/);
    expect(code).toBe(0);
  });

  it('tool.mjs answers requests of another program with lines and a result', { tags: 'full' }, async () => {
    const requests = [
      { id: 1, tool: 'run_issues', issues: FILES },
      { id: 2, tool: 'run_issues', issues: [] },
    ];
    const lined = requests.map((each) => `${JSON.stringify(each)}\n`);
    writeFileSync(join(home, 'requests'), ['not JSON\n', ...lined].join(''));
    const { code, out, err } = await run(
      'sh',
      ['-c', 'exec "$0" examples/tool.mjs < "$1"', process.execPath, join(home, 'requests')],
      {
        cwd: project,
        env: { ...env, SIGNALBOX_HOME: join(home, 'tool') },
      },
    );
    expect(err).toBe('');
    expect(code).toBe(0);
    type Answer = { id: number; line?: string; ok?: boolean; results?: object[]; error?: string };
    const answers = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Answer);
    const lines = answers.flatMap(({ id, line }) => (id === 1 && line !== undefined ? [line] : []));
    expect(lines[0]).toBe('Progress: cache ⏳ age ⏳');
    expect(lines).toContain('● cache: spec started');
    expect(lines.at(-1)).toMatch(/^Log: /);
    const qa = { acMet: 1, acTotal: 1, gaps: [] };
    expect(answers.filter(({ line }) => line === undefined)).toEqual([
      { ok: false, error: 'A request is one line of JSON.', hint: null },
      {
        id: 1,
        ok: true,
        results: [
          { issue: 'cache', success: true, branch: 'feature/cache-cache-the-answers', why: null, qa },
          { issue: 'age', success: true, branch: 'feature/age-show-the-age', why: null, qa },
        ],
      },
      { id: 2, ok: false, error: 'No issue was named.', hint: 'For example: signalbox run 100 101' },
    ]);
  });

  it('low-level.mjs runs what it was handed', { tags: 'full' }, async () => {
    const { code, out, err } = await play('examples/low-level.mjs');
    expect(err).toBe('');
    expect(out).toMatch(/^#1 passed: exec ok, .*qa ok\n#2 passed: exec ok, .*qa ok\n$/);
    expect(code).toBe(0);
  });
});

describe('an error that nobody catches', () => {
  it('is shown with a line of code that can be read', async () => {
    writeFileSync(
      join(project, 'uncaught.mjs'),
      "import { RunOrchestrator } from 'signalbox';\nawait RunOrchestrator.run({ options: {} }, []);\n",
    );
    const { code, err } = await play('uncaught.mjs');
    expect(err).toContain('InputError');
    expect(Math.max(...err.split('\n').map((line) => line.length))).toBeLessThan(500);
    expect(code).toBe(1);
  });
});

describe('library code in the docs', () => {
  it('is there', () => expect(blocks.length).toBeGreaterThan(1));

  it.each(blocks.map((block, index) => [`${block.file}:${block.line}`, index] as const))(
    'of %s runs as it stands',
    async (_at, index) => {
      const { code, err } = await play(`block-${index}.mjs`);
      expect(err).toBe('');
      expect(code).toBe(0);
    },
  );
});
