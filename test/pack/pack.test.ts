import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInThisContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GIT_ENV, git, makeRepo } from '../support/repo.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TSC = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');

interface Packed {
  filename: string;
  size: number;
  unpackedSize: number;
  files: { path: string; size: number; mode: number }[];
}

/** Both levels of the library, as somebody would write them in TypeScript. */
const SHOWN = `import { buildExecutionConfig, ConfigResolver, RunOrchestrator, resolveRunOptions } from 'signalbox';
import type { ConfigLayers, ExecutionConfig, IssueResult, OrchestratorServices, ProgressCallback, RunInit, RunOptions, RunResult } from 'signalbox';
import { getManifest } from 'signalbox/lib/manifest';
import { getSettings, type SignalboxSettings } from 'signalbox/lib/settings';

const settings: SignalboxSettings = await getSettings();
const manifest = await getManifest();
const onProgress: ProgressCallback = (issue, phase, event, extra) => [issue, phase, event, extra?.error];
const init: RunInit = {
  options: { phases: 'spec,exec,qa' },
  settings,
  manifest: { stack: manifest.stack, packageManager: manifest.packageManager ?? 'npm' },
};
const run: RunResult = await RunOrchestrator.run(init, ['123', '456']);
await RunOrchestrator.run({ options: {}, settings, manifest, onProgress }, ['123'], [[1, 2], [3]]);
const asked: RunOptions = { timeout: undefined, qualityLoop: true, rotation: undefined };
const options = resolveRunOptions(asked, settings);
const config: ExecutionConfig = buildExecutionConfig(options, settings, 1);
const services: OrchestratorServices = { logWriter: null, stateManager: null, shutdownManager: undefined };
const orchestrator = new RunOrchestrator({
  config,
  options,
  issueInfoMap: new Map([[123, { title: 'My issue', labels: [] }]]),
  worktreeMap: new Map(),
  services,
});
const results: IssueResult[] = await orchestrator.execute([123]);
const layers: ConfigLayers<{ timeout: number }> = { defaults: { timeout: 60 }, env: { timeout: '5' } };
export const seconds: number = new ConfigResolver(layers).resolve().timeout;
export const codes: number[] = [run.exitCode, ...results.map(({ issueNumber }) => issueNumber)];
`;
const REQUIRED = `import { RunOrchestrator } from 'signalbox';
import { getSettings } from 'signalbox/lib/settings';
export const both = [RunOrchestrator, getSettings];
`;

let dir: string;
let project: string;
let packed: Packed;

/** A user with an empty home and no network. */
function env(): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    ...GIT_ENV,
    HOME: join(dir, 'user'),
    npm_config_cache: join(dir, 'cache'),
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
    NO_UPDATE_NOTIFIER: '1',
  };
}

function run(command: string, args: string[], cwd = project): string {
  return execFileSync(command, args, {
    cwd,
    env: env(),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function signalbox(...args: string[]): string {
  return run(join(project, 'node_modules', '.bin', 'signalbox'), args);
}

/** The declarations are part of the package; a quick build leaves them out. */
function ensureTypes(): void {
  if (existsSync(join(ROOT, 'dist', 'types', 'api', 'index.d.ts'))) return;
  execFileSync(process.execPath, [join(ROOT, 'tools', 'build.mjs')], { cwd: ROOT });
}

beforeAll(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-pack-')));
  project = join(dir, 'project');
  for (const name of ['user', 'project']) mkdirSync(join(dir, name));
  ensureTypes();
  const [made] = JSON.parse(
    run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', dir], ROOT),
  ) as Packed[];
  if (!made) throw new Error('npm pack made nothing');
  packed = made;
  writeFileSync(join(project, 'package.json'), '{"name": "scratch", "private": true, "type": "module"}');
  run('npm', [
    'install',
    join(dir, packed.filename),
    '--offline',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]);
});

afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('the tarball', { tags: 'full' }, () => {
  it('has what a user needs and nothing of how it was made', () => {
    const paths = packed.files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        'package.json',
        'LICENSE',
        'README.md',
        'dist/cli.cjs',
        'dist/load.cjs',
        'dist/index.js',
        'dist/rehearsal.js',
        'dist/types/api/index.d.ts',
        'workflows/local.yaml',
        'workflows/minimal.yaml',
        'prompts/implement.md',
        'scripts/setup-worktree.sh',
        'rehearsals/demo.yaml',
        'schemas/config.schema.json',
        'examples/ci.mjs',
        'examples/low-level.mjs',
        'examples/progress.mjs',
        'examples/tool.mjs',
      ]),
    );
    expect(
      paths.filter((path) =>
        /^(src|test|tools|bench|node_modules|\.ci)\/|\.test\.ts$|\.map$|tsconfig|biome/.test(path),
      ),
    ).toEqual([]);
  });

  it('is small', () => {
    expect(packed.size).toBeLessThan(3_000_000);
    expect(packed.unpackedSize).toBeLessThan(12_000_000);
  });

  it('has executable commands and scripts', () => {
    const plain = packed.files.filter(({ path }) =>
      /^(scripts\/.*\.sh|dist\/(cli|rehearsal)\.c?js)$/.test(path),
    );
    expect(plain.filter(({ mode }) => (mode & 0o111) === 0)).toEqual([]);
    expect(plain.length).toBeGreaterThan(3);
  });

  it('brings everything along: no dependency, no script that runs at installation', () => {
    const file = join(project, 'node_modules', 'signalbox', 'package.json');
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as Record<
      string,
      Record<string, string> | undefined
    >;
    expect(manifest.dependencies ?? {}).toEqual({});
    expect(manifest.optionalDependencies ?? {}).toEqual({});
    for (const name of ['preinstall', 'install', 'postinstall'])
      expect(manifest.scripts?.[name]).toBeUndefined();
    expect(Object.keys(manifest.bin ?? {})).toEqual(['signalbox']);
    expect(packed.files.map(({ path }) => path)).toContain(manifest.bin?.signalbox);
    expect(readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      'signalbox',
    ]);
  });
});

describe('the installed package', { tags: 'full' }, () => {
  it('answers to npx', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(run('npx', ['--no-install', 'signalbox', '--version'])).toBe(`${version}\n`);
  });

  it('knows its workflows', { tags: 'full' }, () => {
    const list = signalbox('workflow', 'list');
    expect(list).toMatch(/^local .*node_modules\/signalbox\/workflows\/local\.yaml\)$/m);
    expect(list).toMatch(/^minimal /m);
    expect(signalbox('workflow', 'check')).toContain('No problems in');
  });

  it('runs a ticket through a shipped workflow, with shipped prompts, scripts and agent', {
    tags: 'full',
  }, () => {
    const repo = makeRepo(join(dir, 'repo'));
    const plan = join(dir, 'user', '.signalbox', 'state', 'plans', 'first');
    mkdirSync(join(plan, 'tickets'), { recursive: true });
    const tickets = [{ ticketId: 'one' }];
    const about = { id: 'first', repo, workflow: 'local', agent: 'rehearsal', status: 'active', tickets };
    writeFileSync(join(plan, 'plan.json'), JSON.stringify(about));
    writeFileSync(
      join(plan, 'tickets', 'one.json'),
      JSON.stringify({ planId: 'first', ticketId: 'one', title: 'Begin' }),
    );
    const said = signalbox('run', 'first');
    expect(said).toContain('✓ one complete');
    expect(said).toContain('1 of 1 done');
    expect(git(repo, 'log', '--format=%s', 'main..signalbox/main').split('\n').length).toBeGreaterThan(0);
    expect(signalbox('status')).toContain('1/1 complete');
  });

  it('completes words in bash', () => {
    const script = `eval "$(node_modules/.bin/signalbox completion bash)"
      COMP_WORDS=(signalbox work) COMP_CWORD=1; _signalbox; echo "\${COMPREPLY[@]}"`;
    expect(run('bash', ['-c', script])).toBe('workflow worker workspace\n');
  });
});

describe('the library', { tags: 'full' }, () => {
  it('exports exactly these names', () => {
    const script = `import * as all from 'signalbox'; console.log(JSON.stringify(Object.keys(all).sort()))`;
    expect(JSON.parse(run(process.execPath, ['--input-type=module', '--eval', script]))).toEqual([
      'ConfigResolver',
      'HeldError',
      'IllegalMoveError',
      'InputError',
      'RunOrchestrator',
      'SignalboxError',
      'buildExecutionConfig',
      'checkCombination',
      'checkExecutionConfig',
      'extraFields',
      'loadSettings',
      'openEngine',
      'openParts',
      'parseBatches',
      'resolveRunOptions',
      'runPlan',
    ]);
  });

  it('can be required as well as imported', () => {
    const script = `const names = ['signalbox', 'signalbox/lib/settings', 'signalbox/lib/manifest'];
      const both = async (name) => [Object.keys(require(name)), Object.keys(await import(name))];
      const same = ([a, b]) => [...a].sort().join() === b.filter((n) => n !== 'default' && n !== 'module.exports').sort().join();
      Promise.all(names.map(both)).then((all) => console.log(JSON.stringify(all.map(same))));`;
    expect(JSON.parse(run(process.execPath, ['--input-type=commonjs', '--eval', script]))).toEqual([
      true,
      true,
      true,
    ]);
  });

  it('is silent and leaves the process alone when it is imported', () => {
    const script = `const before = process.eventNames().length; await import('signalbox');
      process.exitCode = process.eventNames().length === before ? 0 : 9;`;
    expect(run(process.execPath, ['--input-type=module', '--eval', script])).toBe('');
  });

  it('runs issues without a word, an exit or a trace in the process that called it', { tags: 'full' }, () => {
    const repo = makeRepo(join(dir, 'called'));
    for (const name of ['one', 'two']) writeFileSync(join(repo, `${name}.md`), `# ${name}\n`);
    cpSync(join(ROOT, 'test', 'pack', 'library-user.mjs'), join(project, 'library-user.mjs'));
    const out = run(process.execPath, ['library-user.mjs', repo, 'one.md', 'two.md']);
    expect(JSON.parse(out)).toEqual({
      said: [],
      same: true,
      exitCode: 0,
      results: [
        ['one', true, null],
        ['two', true, null],
      ],
      parallel: true,
    });
  });

  it('does not bring the command line along', () => {
    const dist = join(project, 'node_modules', 'signalbox', 'dist');
    const modules: Record<string, () => unknown> = {};
    for (const name of readdirSync(join(dist, 'packs')).filter((file) => file.endsWith('.js')))
      Object.assign(modules, runInThisContext(readFileSync(join(dist, 'packs', name), 'utf8')));
    const loaded = new Set<string>();
    const load = (name: string) => {
      if (loaded.has(name) || !(name in modules)) return;
      loaded.add(name);
      for (const [, path = ''] of String(modules[name]).matchAll(/\brequire\("([^"]+)"\)/g)) load(path);
    };
    for (const name of ['index.js', 'lib/settings.js', 'lib/manifest.js']) load(name);
    expect(loaded.size).toBeGreaterThan(10);
    expect([...loaded].filter((name) => /commander|\bcli\b/.test(name))).toEqual([]);
    expect([...loaded].filter((name) => String(modules[name]).includes('commander.help'))).toEqual([]);
    expect(
      Object.keys(modules).filter((name) => String(modules[name]).includes('commander.help')),
    ).not.toEqual([]);
  });

  it('gives away its schemas and its manifest, and nothing else', () => {
    const script = `import { createRequire } from 'node:module';
      const require = createRequire(import.meta.url);
      const open = (path) => { try { return typeof require.resolve(path); } catch (error) { return error.code; } };
      const paths = ['signalbox/package.json', 'signalbox/schemas/config.schema.json', 'signalbox/dist/cli.cjs'];
      console.log(JSON.stringify(paths.map(open)));`;
    const answers = JSON.parse(run(process.execPath, ['--input-type=module', '--eval', script])) as string[];
    expect(answers).toEqual(['string', 'string', 'ERR_PACKAGE_PATH_NOT_EXPORTED']);
  });

  it.each(['nodenext', 'node16'])('type-checks what the docs show, in %s', (module) => {
    writeFileSync(join(project, 'shown.mts'), SHOWN);
    writeFileSync(join(project, 'required.cts'), REQUIRED);
    const strict = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--exactOptionalPropertyTypes',
      '--target',
      'es2022',
    ];
    const files = ['shown.mts', 'required.cts'];
    expect(run(process.execPath, [TSC, ...strict, '--module', module, '--types', '', ...files])).toBe('');
  });

  it('has types that hold without any other package', () => {
    writeFileSync(
      join(project, 'uses.ts'),
      `import { loadSettings, openParts, type Plan, runPlan, SignalboxError, type Ticket } from 'signalbox';
export const status: Plan['status'] = 'active';
export const id = (ticket: Ticket): string => ticket.ticketId;
export const code = (error: SignalboxError): string => error.code;
export const go = [loadSettings, openParts, runPlan];
// @ts-expect-error: a plan has no such status, so it is not just any type
export const wrong: Plan['status'] = 'nonsense';
`,
    );
    const flags = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--target',
      'es2023',
      '--module',
      'nodenext',
      '--types',
      '',
    ];
    expect(run(process.execPath, [TSC, ...flags, 'uses.ts'])).toBe('');
    expect(dirname(TSC).startsWith(project)).toBe(false);
  });
});
