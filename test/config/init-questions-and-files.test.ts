import { mkdirSync, readFileSync, readlinkSync, statSync, symlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  configText,
  defaultChoices,
  type InitChoices,
  type InitFacts,
  initQuestions,
  makeHome,
  makeProject,
  projectSettings,
} from '../../src/config/init-questions-and-files.ts';
import { detectManifest } from '../../src/config/read-or-detect-project-manifest.ts';
import { failure, runCommand, scratch } from './scratch.ts';

const MADE = ['', 'config.yaml', 'state', 'logs', 'workflows', 'prompts', 'scripts', 'schemas'];
const FACTS: InitFacts = {
  home: true,
  agents: ['claude', 'codex'],
  sandbox: true,
  project: { checks: ['npm test'], forge: true },
};
const CHOICES = defaultChoices({ ...FACTS, project: { checks: [], forge: false } });

/** The choices after these answers, one for each question. */
function answered(facts: InitFacts, ...answers: string[]): InitChoices | string {
  const questions = initQuestions(facts);
  expect(questions).toHaveLength(answers.length);
  return questions.reduce<InitChoices | string>(
    (choices, { take }, at) => (typeof choices === 'string' ? choices : take(answers[at] ?? '', choices)),
    defaultChoices(facts),
  );
}

describe('the questions of init', () => {
  it('Enter takes what --yes takes', () => {
    expect(answered(FACTS, '', '', '', '')).toEqual({
      agent: 'claude',
      sandbox: false,
      checks: null,
      finish: 'pull request',
    });
    expect(answered({ ...FACTS, project: { checks: [], forge: false } }, '', '', '', '')).toMatchObject({
      finish: 'branch',
    });
  });

  it.each([
    [['codex', 'y', 'make lint, make test', '2'], { agent: 'codex', sandbox: true, finish: 'merge' }],
    [['2', 'NO', 'make lint,make test', '3'], { agent: 'codex', sandbox: false, finish: 'branch' }],
  ])('%j are choices', (answers, choices) => {
    expect(answered(FACTS, ...answers)).toEqual({ checks: ['make lint', 'make test'], ...choices });
  });

  it('leaves a comma between quotes in its command', () => {
    expect(answered(FACTS, '', '', `node -e "f(1, 2)", grep 'a,b' x,make`, '')).toMatchObject({
      checks: ['node -e "f(1, 2)"', "grep 'a,b' x", 'make'],
    });
  });

  it.each([
    [['gemini', '', '', ''], 'Type one of: claude, codex.'],
    [['3', '', '', ''], 'Type one of: claude, codex.'],
    [['', 'perhaps', '', ''], 'Type y or n.'],
    [['', '', '', '4'], 'Type 1, 2 or 3.'],
  ])('%j is asked again', (answers, says) => {
    expect(answered(FACTS, ...answers)).toBe(says);
  });

  it('are only about what is not decided: files that exist, one agent, no sandbox', () => {
    expect(initQuestions({ ...FACTS, home: false, project: undefined })).toEqual([]);
    expect(initQuestions({ ...FACTS, agents: ['claude'], sandbox: false, project: undefined })).toEqual([]);
    expect(initQuestions({ ...FACTS, agents: [], project: undefined })).toEqual([]);
    expect(initQuestions({ ...FACTS, home: false })).toHaveLength(2);
  });

  it('make a config file of at most 40 lines that sets what was chosen and nothing else', async () => {
    const { write, load } = scratch();
    for (const [agent, sandbox, set] of [
      ['claude', false, []],
      ['codex', false, ['defaultAgent']],
      ['codex', true, ['defaultAgent', 'agents', 'agents.codex']],
    ] as const) {
      const text = configText({ ...CHOICES, agent, sandbox });
      expect(text.split('\n').length).toBeLessThanOrEqual(40);
      write('user/.signalbox/config.yaml', text);
      const { origin, defaultAgent, agents } = await load();
      expect(defaultAgent).toBe(agent);
      expect(agents[agent]?.sandbox).toBe(sandbox ? 'bwrap' : undefined);
      expect(Object.keys(origin).filter((key) => origin[key] !== 'default')).toEqual(set);
    }
  });

  it('leave only true lines commented out', async () => {
    const { write, load } = scratch();
    const text = configText({ ...CHOICES, agent: 'claude' });
    write('user/.signalbox/config.yaml', text.replace(/^#((?: {2})*[A-Za-z]+:)/gm, '$1'));
    const { origin } = await load();
    expect(origin).toMatchObject({
      defaultAgent: expect.stringContaining('config.yaml'),
      'agents.claude': expect.stringContaining('config.yaml'),
      'budgets.day': expect.stringContaining('config.yaml'),
      'notify.desktop': expect.stringContaining('config.yaml'),
      copy: expect.stringContaining('config.yaml'),
    });
  });

  it.each([
    [{ checks: null, finish: null }, {}],
    [
      { checks: ['make'], finish: 'branch' },
      { checks: ['make'], run: { pr: false } },
    ],
    [
      { checks: null, finish: 'merge' },
      { defaultWorkflow: 'local', run: { pr: false, integrate: true } },
    ],
    [
      { checks: null, finish: 'pull request' },
      { defaultWorkflow: 'standard', run: { pr: true } },
    ],
  ] as const)('%j is %j in the project', (choices, settings) => {
    expect(projectSettings(choices)).toEqual({
      $schema: './settings.schema.json',
      version: 1,
      ...settings,
    });
  });
});

describe('init', () => {
  it('makes a home that loads, and says what it made', async () => {
    const { path, load } = scratch();
    const said = await runCommand(['init'], { cwd: path('cwd'), env: { HOME: path('user') } });
    const home = path('user/.signalbox');
    for (const name of MADE)
      expect(said.out).toMatch(new RegExp(`^created +${home}${name && `/${name}`}$`, 'm'));
    expect(said.out).toContain('signalbox doctor');
    expect(statSync(home).mode & 0o777).toBe(0o700);
    expect((await load()).configFile).toBe(`${home}/config.yaml`);
  });

  it('changes nothing the second time', async () => {
    const { path, write } = scratch();
    const config = write('user/.signalbox/config.yaml', 'slots: 1\n');
    mkdirSync(path('cwd/.git'));
    const world = { cwd: path('cwd'), env: { HOME: path('user') } };
    await runCommand(['init'], world);
    const settings = write('cwd/.signalbox/settings.json', '{"slots": 2}\n');
    const manifest = write('cwd/.signalbox/manifest.json', '{"mine": true}\n');
    const said = JSON.parse((await runCommand(['init', '--json'], world)).out) as {
      home: string;
      repository: string;
      made: { path: string; did: string }[];
    };
    expect(new Set(said.made.map(({ did }) => did))).toEqual(new Set(['kept']));
    expect(said).toMatchObject({ home: path('user/.signalbox'), repository: path('cwd') });
    expect(readFileSync(config, 'utf8')).toBe('slots: 1\n');
    expect(readFileSync(settings, 'utf8')).toBe('{"slots": 2}\n');
    expect(readFileSync(manifest, 'utf8')).toBe('{"mine": true}\n');
  });

  it('makes settings, manifest and ignore rules at the top of a repository', async () => {
    const { path, write } = scratch();
    mkdirSync(path('cwd/.git'));
    mkdirSync(path('cwd/sub'));
    write('cwd/package.json', '{}');
    await runCommand(['init'], { cwd: path('cwd/sub'), env: { HOME: path('user') } });
    expect(JSON.parse(readFileSync(path('cwd/.signalbox/settings.json'), 'utf8'))).toEqual({
      $schema: './settings.schema.json',
      version: 1,
    });
    expect(readFileSync(path('cwd/.signalbox/settings.schema.json'), 'utf8')).toContain('Signalbox settings');
    expect(JSON.parse(readFileSync(path('cwd/.signalbox/manifest.json'), 'utf8'))).toEqual({
      version: 1,
      stack: 'node',
      packageManager: 'npm',
    });
    expect(readFileSync(path('cwd/.signalbox/.gitignore'), 'utf8')).toBe('logs/\nstate/\n');
  });

  it('links the schemas of the installed version, again if the link leads nowhere', () => {
    const { path } = scratch();
    const link = path('user/.signalbox/schemas');
    mkdirSync(path('user/.signalbox'));
    symlinkSync(path('gone'), link);
    expect(makeHome(path('user/.signalbox'), CHOICES).at(-1)).toEqual({ path: link, did: 'made' });
    expect(readlinkSync(link)).toMatch(/schemas$/);
    expect(statSync(`${link}/workflow.schema.json`).isFile()).toBe(true);
    expect(makeHome(path('user/.signalbox'), CHOICES).at(-1)).toEqual({ path: link, did: 'kept' });
  });

  it('adds a missing ignore rule below a person’s own', () => {
    const { path, write } = scratch();
    const file = write('cwd/.signalbox/.gitignore', '/logs/\nmine');
    expect(makeProject(path('cwd'), CHOICES).at(-1)).toEqual({ path: file, did: 'extended' });
    expect(readFileSync(file, 'utf8')).toBe('/logs/\nmine\nstate/\n');
    expect(makeProject(path('cwd'), CHOICES).at(-1)).toEqual({ path: file, did: 'kept' });
  });

  it.each([
    [['init', '--dir', 'here'], {}, 'cwd/here', 'To use it: signalbox -C'],
    [['init', '--dir', '~/there'], {}, 'user/there', 'SIGNALBOX_HOME='],
    [['init'], { SIGNALBOX_HOME: 'own' }, 'cwd/own', 'Settings are in'],
  ])('%j with %j makes %s', async (args, env, home, says) => {
    const { path } = scratch();
    const said = await runCommand(args, { cwd: path('cwd'), env: { HOME: path('user'), ...env } });
    expect(said.out).toContain(says);
    expect(statSync(path(home, 'state')).isDirectory()).toBe(true);
  });

  it('refuses a home where a file is', async () => {
    const { path, write } = scratch();
    write('user/.signalbox', '');
    const error = await failure((async () => makeHome(path('user/.signalbox'), CHOICES))());
    expect(error.code).toBe('init/failed');
    expect(error.hint).toContain('--dir');
  });
});

describe('detectManifest', () => {
  it.each([
    [{}, null, null],
    [{ 'package.json': '{}' }, 'node', 'npm'],
    [{ 'package.json': '{}', 'pnpm-lock.yaml': '' }, 'node', 'pnpm'],
    [{ 'package.json': '{"packageManager": "yarn@4.1.0"}', 'package-lock.json': '' }, 'node', 'yarn'],
    [{ 'package.json': '{', 'bun.lock': '' }, 'node', 'bun'],
    [{ 'pyproject.toml': '', 'uv.lock': '' }, 'python', 'uv'],
    [{ 'requirements.txt': '' }, 'python', 'pip'],
    [{ 'Cargo.toml': '' }, 'rust', 'cargo'],
    [{ 'go.mod': '' }, 'go', 'go'],
    [{ 'build.gradle.kts': '' }, 'java', 'gradle'],
    [{ 'App.csproj': '' }, 'dotnet', 'dotnet'],
  ])('%j is %s with %s', (files, stack, packageManager) => {
    const { path, write } = scratch();
    for (const [name, text] of Object.entries(files)) write(`cwd/${name}`, text);
    expect(detectManifest(path('cwd'))).toEqual({ version: 1, stack, packageManager });
  });

  it('of a directory that is not there is empty', () => {
    expect(detectManifest('/nowhere/at/all')).toEqual({ version: 1, stack: null, packageManager: null });
  });
});
