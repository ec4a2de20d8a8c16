import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openHome, withoutLogins } from '../../src/sandbox/agent-home.ts';
import { git, it as inWorld, story } from '../support/index.ts';
import { nest } from '../support/nest.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'signalbox-home-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const put = (name: string, text: string) => {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), text);
};
const read = (name: string) => readFileSync(join(root, name), 'utf8');
const open = (adapter: string, env: Record<string, string> = {}) =>
  openHome({ dir: join(root, 'kept'), adapter, userHome: join(root, 'user'), env });

describe('the home of a sandboxed agent', () => {
  it('has copies of login and settings, and what else the user has for reading', async () => {
    put('user/.codex/auth.json', 'login');
    put('user/.codex/config.toml', 'own');
    put('user/.codex/sessions/other.jsonl', 'private');
    put('user/.codex/skills/one/SKILL.md', '');
    const home = await open('codex', { CODEX_HOME: join(root, 'user', '.codex') });
    expect(home).toEqual({
      writable: [[join(root, 'kept/.codex'), join(root, 'user/.codex')]],
      readable: [[join(root, 'user/.codex/skills'), join(root, 'user/.codex/skills')]],
      env: { HOME: join(root, 'user'), CODEX_HOME: join(root, 'user/.codex') },
    });
    expect([read('kept/.codex/auth.json'), read('kept/.codex/config.toml')]).toEqual(['login', 'own']);
    expect(existsSync(join(root, 'kept/.codex/sessions'))).toBe(false);
  });

  it('is taken from where a variable says, and never as a whole', async () => {
    put('data/opencode/auth.json', 'login');
    put('data/systemd/user/x.service', '');
    put('user/.gemini/settings.json', '{}');
    const { writable, env } = await open('opencode', {
      XDG_DATA_HOME: join(root, 'data'),
      TMPDIR: '/elsewhere',
    });
    expect(read('kept/.local/share/opencode/auth.json')).toBe('login');
    expect(writable.map(([, to]) => to.slice(join(root, 'user').length))).toEqual([
      '/.local/share/opencode',
      '/.config/opencode',
      '/.cache/opencode',
      '/.local/state/opencode',
    ]);
    expect(env).toMatchObject({ XDG_DATA_HOME: join(root, 'user/.local/share'), TMPDIR: '/tmp' });
    const gemini = await open('gemini', { GEMINI_CLI_HOME: join(root, 'user') });
    expect(gemini.writable).toEqual([[join(root, 'kept/.gemini'), join(root, 'user/.gemini')]]);
  });

  it('keeps sessions and a renewed login, and takes settings anew', async () => {
    put('user/.pi/agent/auth.json', 'old');
    put('user/.pi/agent/settings.json', 'own');
    utimesSync(join(root, 'user/.pi/agent/auth.json'), 1, 1);
    await open('pi');
    put('kept/.pi/agent/auth.json', 'renewed');
    put('kept/.pi/agent/settings.json', 'evil');
    put('kept/.pi/agent/sessions/s.jsonl', 'mine');
    await open('pi');
    const names = ['auth.json', 'settings.json', 'sessions/s.jsonl'];
    expect(names.map((name) => read(`kept/.pi/agent/${name}`))).toEqual(['renewed', 'own', 'mine']);
  });

  it('has its settings whatever an agent put in their place', { tags: 'full' }, async () => {
    put('user/.pi/agent/settings.json', 'own');
    mkdirSync(join(root, 'kept/.pi/agent/settings.json'), { recursive: true });
    nest(join(root, 'kept/.pi/agent/settings.json'));
    await open('pi');
    expect(read('kept/.pi/agent/settings.json')).toBe('own');
  });

  it.each(['kept/.claude', 'kept/.claude/settings.json', 'kept/.claude/skills'])(
    'is not written through a link at %s',
    async (name) => {
      put('user/.claude/settings.json', 'own');
      put('user/.claude/skills/x', '');
      put('victim/settings.json', 'precious');
      mkdirSync(dirname(join(root, name)), { recursive: true });
      symlinkSync(join(root, name.endsWith('json') ? 'victim/settings.json' : 'victim'), join(root, name));
      await open('claude');
      expect(read('victim/settings.json')).toBe('precious');
      expect(read('kept/.claude/settings.json')).toBe('own');
      expect(lstatSync(join(root, name)).isSymbolicLink()).toBe(false);
    },
  );
});

it('git settings lose what may hold a login', () => {
  const text = [
    '[user]',
    '\tname = Ada',
    '\tsigningkey = ABC',
    '[http "https://x.test"]',
    '\textraheader = Authorization: x',
    '[alias]',
    '\tst = status',
    '\tup = push https://me:pass@x.test/a',
    '[Credential]',
    '\thelper = "!f() { \\',
    '  echo password=x; }; f"',
    '[core]',
    '\teditor = vi',
    '\taskPass = /bin/tell',
    '[url "https://me@x.test/"] insteadOf = x:',
  ];
  expect(withoutLogins(text.join('\n')).split('\n')).toEqual([
    '[user]',
    '\tname = Ada',
    '[alias]',
    '\tst = status',
    '[core]',
    '\teditor = vi',
  ]);
});

inWorld('pi does not work outside where it would obey what sandboxed agents wrote', async ({ world }) => {
  const fake = world.agent('pi', 'exit 1', { adapter: 'pi' });
  world.workflow('work', [{ id: 'build', type: 'agent', agent: 'pi', prompt: 'Build.', maxRetries: 0 }]);
  mkdirSync(join(world.repo, '.pi'));
  writeFileSync(join(world.repo, '.pi', 'settings.json'), '{}');
  git(world.repo, 'add', '--all');
  git(world.repo, 'commit', '--quiet', '--message=Settings');
  world.config({ agents: { other: { adapter: 'custom', command: fake, sandbox: 'bwrap' } } });
  world.plan('p', { tickets: { a: {} } });
  await world.cli('run', 'p');
  expect(story(world.ticket('p', 'a'))).toEqual(['build failure']);
  expect(world.ticket('p', 'a').error).toContain('pi would obey .pi/settings.json');
});
