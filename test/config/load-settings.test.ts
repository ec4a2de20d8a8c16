import { mkdirSync, symlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { findAgent, guessAdapter } from '../../src/config/resolve-agents.ts';
import { failure, scratch } from './scratch.ts';

describe('the chain of config files', () => {
  const FILES = {
    given: 'elsewhere/given.yaml',
    home: 'home/config.yaml',
    user: 'user/.signalbox/config.yaml',
    cwd: 'cwd/signalbox.yaml',
  };
  it.each([
    { there: ['given', 'home', 'user', 'cwd'], C: true, home: true, uses: 'given' },
    { there: ['given', 'cwd'], C: true, home: false, uses: 'given' },
    { there: ['home', 'user', 'cwd'], C: false, home: true, uses: 'home' },
    { there: ['home', 'user', 'cwd'], C: false, home: false, uses: 'user' },
    { there: ['user', 'cwd'], C: false, home: true, uses: 'user' },
    { there: ['cwd'], C: false, home: true, uses: 'cwd' },
    { there: ['cwd'], C: false, home: false, uses: 'cwd' },
    { there: [], C: false, home: false, uses: null },
  ] as const)('$there with -C $C and SIGNALBOX_HOME $home uses $uses', async ({ there, C, home, uses }) => {
    const { write, path, load } = scratch();
    for (const name of there) write(FILES[name], `slots: ${Object.keys(FILES).indexOf(name) + 10}\n`);
    const settings = await load({
      env: { HOME: path('user'), ...(home && { SIGNALBOX_HOME: path('home') }) },
      configPath: C ? path(FILES.given) : undefined,
    });
    expect(settings.configFile).toBe(uses && path(FILES[uses]));
    expect(settings.slots).toBe(uses ? Object.keys(FILES).indexOf(uses) + 10 : 4);
    expect(settings.origin.slots).toBe(uses ? `${path(FILES[uses])}:1` : 'default');
    expect(settings.home).toBe(home ? path('home') : path('user/.signalbox'));
  });

  it('keeps state in SIGNALBOX_HOME also when the settings are the user’s own', async () => {
    const { write, path, load } = scratch();
    write('user/.signalbox/config.yaml', 'slots: 7\n');
    const settings = await load({ env: { HOME: path('user'), SIGNALBOX_HOME: path('home') } });
    expect(settings).toMatchObject({ slots: 7, stateDir: path('home/state'), logDir: path('home/logs') });
  });

  it.each([
    { file: 'user/.signalbox/config.yaml', configPath: undefined, data: 'user/.signalbox' },
    { file: 'cwd/signalbox.yaml', configPath: undefined, data: 'cwd/.signalbox' },
    { file: 'cwd/signalbox.yaml', configPath: 'signalbox.yaml', data: 'cwd/.signalbox' },
    { file: 'else/where.yaml', configPath: '../else/where.yaml', data: 'else' },
    { file: 'user/mine.yaml', configPath: '~/mine.yaml', data: 'user' },
    { file: null, configPath: undefined, data: 'user/.signalbox' },
  ])('state and logs of $file are in $data', async ({ file, configPath, data }) => {
    const { write, path, load } = scratch();
    if (file) write(file, '');
    const settings = await load({ configPath });
    expect(settings.stateDir).toBe(path(data, 'state'));
    expect(settings.logDir).toBe(path(data, 'logs'));
  });

  it('takes SIGNALBOX_CONFIG for -C, which goes before it', async () => {
    const { write, path, load } = scratch();
    write('user/.signalbox/config.yaml', '');
    const one = write('one.yaml', '');
    const two = write('two.yaml', '');
    const env = { HOME: path('user'), SIGNALBOX_CONFIG: one };
    expect((await load({ env })).configFile).toBe(one);
    expect((await load({ env, configPath: two })).configFile).toBe(two);
    expect((await failure(load({ env: { ...env, SIGNALBOX_CONFIG: 'gone' } }))).code).toBe('config/missing');
  });

  it('says inside a job that hides the user’s files that a job decides nothing', async () => {
    const { path, load } = scratch();
    const env = {
      HOME: path('user'),
      SIGNALBOX_CONFIG: path('hidden.yaml'),
      SIGNALBOX_JOB: path('jobs/p/a/1'),
    };
    const error = await failure(load({ env }));
    expect(error).toMatchObject({ code: 'config/missing', details: { file: path('hidden.yaml') } });
    expect(error.message).toBe(`This job cannot see the config file ${path('hidden.yaml')}.`);
    expect(error.hint).toContain('A job cannot decide about tickets and plans');
    expect((await failure(load({ env, configPath: 'gone.yaml' }))).hint).toContain('-C');
  });

  it('puts the user’s own content before the bundled one', async () => {
    const { write, path, load } = scratch();
    write('user/.signalbox/config.yaml', 'promptDir: ~/prompts\nscriptDir: mine/scripts\n');
    const { searchPath } = await load();
    expect(searchPath).toEqual({
      workflows: [path('user/.signalbox/workflows'), path('package/workflows')],
      prompts: [path('user/prompts'), path('package/prompts')],
      scripts: [path('user/.signalbox/mine/scripts'), path('package/scripts')],
      skills: [path('user/.signalbox/skills'), path('package/skills')],
    });
  });

  it('refuses a missing -C file, and does not go on down the chain', async () => {
    const { write, path, load } = scratch();
    write('user/.signalbox/config.yaml', '');
    const error = await failure(load({ configPath: 'gone.yaml' }));
    expect(error).toMatchObject({ code: 'config/missing', details: { file: path('cwd/gone.yaml') } });
    expect(error.hint).toContain('-C');
  });

  it.each(['directory', 'loop'])(
    'refuses a file that cannot be read (%s) instead of passing over it',
    async (how) => {
      const { write, path, load } = scratch();
      write('cwd/signalbox.yaml', 'slots: 1\n');
      mkdirSync(path('user/.signalbox'));
      const file = path('user/.signalbox/config.yaml');
      if (how === 'directory') mkdirSync(file);
      else symlinkSync(file, file);
      const error = await failure(load());
      expect(error.code).toBe('config/unreadable');
      expect(error.message).toContain(file);
    },
  );
});

describe('layers', () => {
  it('defaults < file < project settings < variables < flags', async () => {
    const { write, path, load } = scratch();
    const file = write(
      'user/.signalbox/config.yaml',
      'version: 1\nslots: 1\nmaxConcurrency: 1\npollInterval: 1\nghCommand: hub\n',
    );
    mkdirSync(path('cwd/.git'));
    const project = write(
      'cwd/.signalbox/settings.json',
      '{\n  "maxConcurrency": 2,\n  "pollInterval": 2,\n  "slots": 2\n}\n',
    );
    const env = {
      HOME: path('user'),
      SIGNALBOX_POLL_INTERVAL: '3.5',
      SIGNALBOX_SLOTS: '3',
      SIGNALBOX_LOG_DIR: '',
    };
    const settings = await load({ env, flags: { slots: '5', defaultAgent: undefined } });
    expect(settings).toMatchObject({
      ghCommand: 'hub',
      maxConcurrency: 2,
      pollInterval: 3.5,
      slots: 5,
      defaultAgent: 'claude',
    });
    expect(settings.origin).toMatchObject({
      defaultAgent: 'default',
      logDir: 'default',
      ghCommand: `${file}:5`,
      maxConcurrency: `${project}:2`,
      pollInterval: 'SIGNALBOX_POLL_INTERVAL',
      slots: '--slots',
    });
  });

  it('knows flags by the names the commands give them', async () => {
    const { load } = scratch();
    const { origin } = await load({
      flags: { maxConcurrency: 9, defaultAgent: 'codex', defaultWorkflow: 'minimal' },
    });
    expect(origin).toMatchObject({
      maxConcurrency: '--concurrency',
      defaultAgent: '--agent',
      defaultWorkflow: '--workflow',
    });
  });

  it('reads a group key by key', async () => {
    const { write, load } = scratch();
    const file = write(
      'user/.signalbox/config.yaml',
      'timeouts:\n  agentSeconds: 5\nretention:\nhooks: {}\nagents:\n',
    );
    const settings = await load();
    expect(settings.timeouts).toEqual({
      agentSeconds: 5,
      agentIdleSeconds: 900,
      scriptSeconds: 1800,
      pollSeconds: 86400,
      pollCheckSeconds: 120,
    });
    expect(settings.retention).toEqual({ days: 30, gigabytes: 2 });
    expect(settings.hooks).toEqual({ afterCreate: [] });
    expect(settings.origin['timeouts.agentSeconds']).toBe(`${file}:2`);
    expect(settings.origin['timeouts.pollSeconds']).toBe('default');
  });

  it('expands ~, and takes paths relative to what named them', async () => {
    const { write, path, load } = scratch();
    write('user/.signalbox/config.yaml', 'stateDir: ../data\nworktreeRoot: ~/trees\nlogDir: /var/log/sb\n');
    expect(await load()).toMatchObject({
      stateDir: path('user/data'),
      worktreeRoot: path('user/trees'),
      logDir: '/var/log/sb',
    });
    const env = { HOME: path('user'), SIGNALBOX_STATE_DIR: 'here', SIGNALBOX_WORKTREE_ROOT: '~/other' };
    expect(await load({ env })).toMatchObject({
      stateDir: path('cwd/here'),
      worktreeRoot: path('user/other'),
    });
  });

  it('leaves all files aside when asked to', async () => {
    const { write, load } = scratch();
    write('user/.signalbox/config.yaml', 'nonsense: true\n');
    expect((await load({ withoutFiles: true })).configFile).toBeNull();
  });

  it.each([
    ['defaultAgent: nope\n', 'other/state'],
    ['stateDir: there\ndefaultAgent: nope\n', 'other/there'],
    ['{ nonsense', 'other/state'],
  ])('knows where state is also when %j cannot be used', async (text, stateDir) => {
    const { write, path, load } = scratch();
    write('other/config.yaml', text);
    const settings = await load({ configPath: path('other/config.yaml'), withoutFiles: true });
    expect(settings.stateDir).toBe(path(stateDir));
  });

  it('gives every caller values of its own', async () => {
    const { load } = scratch();
    (await load()).caches.push('mine');
    expect((await load()).caches).not.toContain('mine');
  });
});

describe('bad settings', () => {
  it.each([
    ['maxConcurency: 3', '1:1: unknown key "maxConcurency"; did you mean "maxConcurrency"?'],
    ['slots: 1\nfrobnicate: 3', '2:1: unknown key "frobnicate".'],
    ['timeouts:\n  agentSecond: 3', '2:3: unknown key "agentSecond"; did you mean "agentSeconds"?'],
    ['agentSeconds: 3', '1:1: unknown key "agentSeconds"; "agentSeconds" belongs under "timeouts".'],
    [
      'timeouts.agentSeconds: 3',
      '1:1: unknown key "timeouts.agentSeconds"; "agentSeconds" belongs under "timeouts".',
    ],
    ['agents:\n  x:\n    comand: y', '3:5: unknown key "comand"; did you mean "command"?'],
    ['agents:\n  x:\n    model: y', '2:3: agents.x has no "command".'],
    [
      'agents:\n  "a/b":\n    command: y',
      '2:3: the name "a/b" may contain only letters, digits, "_" and "-".',
    ],
    [
      'agents: {x: {command: y, adapter: claud}}',
      '1:35: agents.x.adapter: found the text "claud"; allowed is one of claude, codex, opencode, pi, gemini, rehearsal, custom.',
    ],
    ['agents: {x: {command: y, env: {A: 1}}}', '1:35: agents.x.env.A: found 1; allowed is text.'],
    ['mcpServers:\n  linear: {args: []}', '2:3: mcpServers.linear has no "command".'],
    [
      'web: {publicUrl: https://box.example.org/signalbox}',
      '1:18: web.publicUrl: found the text "https://box.example.org/signalbox"; allowed is an address that begins with http:// or https:// and has no path.',
    ],
    ['maxConcurrency: 0', '1:17: maxConcurrency: found 0; allowed is a whole number of at least 1.'],
    ['maxConcurrency: 1.5', '1:17: maxConcurrency: found 1.5; allowed is a whole number of at least 1.'],
    [
      'maxConcurrency: "3"',
      '1:17: maxConcurrency: found the text "3"; allowed is a whole number of at least 1.',
    ],
    ['maxConcurrency:', '1:1: maxConcurrency: found nothing; allowed is a whole number of at least 1.'],
    [
      'pollInterval: .inf',
      '1:15: pollInterval: found Infinity; allowed is a number above 0 and at most 2000000.',
    ],
    [
      'timeouts: {agentSeconds: 0}',
      '1:26: timeouts.agentSeconds: found 0; allowed is a number above 0 and at most 2000000.',
    ],
    [
      'timeouts: 5',
      '1:11: timeouts: found 5; allowed is a mapping with agentSeconds, agentIdleSeconds, scriptSeconds, pollSeconds, pollCheckSeconds.',
    ],
    [
      'copy:\n  - .env\n  - ../../.ssh/id',
      '3:5: copy.1: found the text "../../.ssh/id"; allowed is a relative path or pattern without "..".',
    ],
    [
      'caches: [/]',
      '1:10: caches.0: found the text "/"; allowed is a relative path or pattern without "..".',
    ],
    [
      'copy: .env',
      '1:7: copy: found the text ".env"; allowed is a list, each a relative path or pattern without "..".',
    ],
    ['stateDir: ~bob/x', '1:11: stateDir: found the text "~bob/x"; allowed is a path.'],
    ['stateDir: ""', '1:11: stateDir: found an empty text; allowed is a path.'],
    [
      'ghCommand: --help',
      '1:12: ghCommand: found the text "--help"; allowed is the name or path of an executable.',
    ],
    ['- a', '1:1: found a list; allowed is a mapping of settings.'],
    ['version: 2', '1:10: version 2 was written for a newer Signalbox.'],
    ['version: one', '1:10: version: found the text "one"; allowed is 1.'],
    ['defaultAgent: cluade', '1:1: no agent is called "cluade"; did you mean "claude"?'],
    ['defaultAgent: toString', '1:1: no agent is called "toString".'],
    ['agents: {claude: {fallback: codx}}', '1:10: no agent is called "codx"; did you mean "codex"?'],
    ['slots: [1', '1:10: Flow sequence in block collection must be sufficiently indented and end with a ].'],
  ])('%j', async (text, expected) => {
    const { write, load } = scratch();
    const file = write('user/.signalbox/config.yaml', text);
    const error = await failure(load());
    expect(error.message).toBe(`${file}:${expected}`);
  });

  it('says where, as data too, and how to go on', async () => {
    const { write, load } = scratch();
    const file = write('user/.signalbox/config.yaml', '\nagents:\n  x: {command: y, env: {PORT: 80}}\n');
    const error = await failure(load());
    expect(error).toMatchObject({
      details: { file, line: 3, column: 31, key: 'agents.x.env.PORT' },
      hint: 'Put it in quotes: "80".',
    });
  });

  it.each([
    [
      { SIGNALBOX_MAX_CONCURRENCY: 'many' },
      {},
      'SIGNALBOX_MAX_CONCURRENCY: found the text "many"; allowed is a whole number of at least 1.',
    ],
    [
      { SIGNALBOX_TIMEOUTS_AGENT_SECONDS: '-1' },
      {},
      'SIGNALBOX_TIMEOUTS_AGENT_SECONDS: found -1; allowed is a number above 0 and at most 2000000.',
    ],
    [
      { SIGNALBOX_SLOTS: '0x10' },
      {},
      'SIGNALBOX_SLOTS: found the text "0x10"; allowed is a whole number of at least 0.',
    ],
    [
      { SIGNALBOX_DEFAULT_AGENT: 'codx' },
      {},
      'SIGNALBOX_DEFAULT_AGENT: no agent is called "codx"; did you mean "codex"?',
    ],
    [
      {},
      { maxConcurrency: 'NaN' },
      '--concurrency: found the text "NaN"; allowed is a whole number of at least 1.',
    ],
    [{}, { defaultAgent: 'nobody' }, '--agent: no agent is called "nobody".'],
  ])('%j %j', async (env, flags, expected) => {
    const { path, load } = scratch();
    const error = await failure(load({ env: { HOME: path('user'), ...env }, flags }));
    expect(error.message).toBe(expected);
  });
});

describe('agents', () => {
  it('has the known CLIs and the rehearsal without any entry', async () => {
    const { path, load } = scratch();
    const { agents, origin } = await load();
    expect(Object.values(agents).map(({ name, adapter, command }) => [name, adapter, command])).toEqual([
      ['claude', 'claude', 'claude'],
      ['codex', 'codex', 'codex'],
      ['opencode', 'opencode', 'opencode'],
      ['pi', 'pi', 'pi'],
      ['gemini', 'gemini', 'gemini'],
      ['rehearsal', 'rehearsal', path('package/dist/rehearsal.js')],
    ]);
    expect(origin['agents.claude']).toBe('default');
  });

  it('knows the bundled agent by its name in other entries', async () => {
    const { write, load } = scratch();
    const entries = [
      'slow: {command: rehearsal, adapter: rehearsal, defaultArgs: [--scenario, x.yaml]}',
      'guessed: {command: rehearsal}',
      'mine: {command: rehearsal, adapter: custom}',
    ];
    write('user/.signalbox/config.yaml', `agents:\n  ${entries.join('\n  ')}\n`);
    const { agents } = await load();
    const bundled = { adapter: 'rehearsal', command: agents.rehearsal?.command };
    expect(agents.slow).toMatchObject({ ...bundled, name: 'slow', defaultArgs: ['--scenario', 'x.yaml'] });
    expect(agents.guessed).toMatchObject(bundled);
    expect(agents.mine).toMatchObject({ adapter: 'custom', command: 'rehearsal' });
  });

  it('lets an entry change only what it says, and guesses the adapter', async () => {
    const { write, path, load } = scratch();
    const file = write(
      'user/.signalbox/config.yaml',
      'agents:\n  claude: {model: opus, env: {A: b}}\n  wrapped: {command: ~/bin/claude}\n  own: {command: ./run.sh, defaultArgs: [-x]}\ndefaultAgent: own\n',
    );
    const { agents, origin } = await load();
    expect(agents.claude).toEqual({
      name: 'claude',
      adapter: 'claude',
      command: 'claude',
      defaultArgs: [],
      env: { A: 'b' },
      model: 'opus',
    });
    expect(agents.wrapped).toMatchObject({ adapter: 'claude', command: path('user/bin/claude') });
    expect(agents.own).toMatchObject({
      adapter: 'custom',
      command: path('user/.signalbox/run.sh'),
      defaultArgs: ['-x'],
    });
    expect(origin).toMatchObject({
      agents: `${file}:1`,
      'agents.own': `${file}:4`,
      'agents.codex': 'default',
    });
  });

  it.each([
    ['claude', 'claude'],
    ['/opt/bin/Codex', 'codex'],
    ['/x/dist/rehearsal.js', 'rehearsal'],
    ['my-claude', 'custom'],
  ])('the adapter of %s is %s', (command, adapter) => {
    expect(guessAdapter(command)).toBe(adapter);
  });

  it('names the agents there are when one is unknown', async () => {
    const { load } = scratch();
    const { agents } = await load();
    expect(findAgent(agents, 'codex').command).toBe('codex');
    expect(() => findAgent(agents, 'constructor')).toThrow('no agent is called "constructor"');
  });
});
