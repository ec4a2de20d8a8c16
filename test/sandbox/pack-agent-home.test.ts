import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { packHome, unpackHome } from '../../src/sandbox/agent-home.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'signalbox-test-home-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

function put(path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), content);
}
const redact = (text: string) => text.replaceAll('hunter2', '…');

it('has sessions without secrets, and neither logins nor links', () => {
  put('.claude/.credentials.json', 'login');
  put('.claude/settings.json', '{}');
  put('.claude/skills/own/SKILL.md', 'shown to it');
  put('.claude/projects/x/s-1.jsonl', 'one hunter2\ntwo\n');
  symlinkSync('/etc/hostname', join(dir, '.claude/projects/x/link'));
  const packed = packHome(dir, 'claude', redact) ?? Buffer.from('');
  expect(JSON.parse(gunzipSync(packed).toString())).toEqual({
    '.claude/projects/x/s-1.jsonl': 'one …\ntwo\n',
  });
  put('.claude/projects/x/older.jsonl', 'of this machine');
  unpackHome(dir, 'claude', packed);
  expect(readFileSync(join(dir, '.claude/projects/x/s-1.jsonl'), 'utf8')).toBe('one …\ntwo\n');
  expect(existsSync(join(dir, '.claude/projects/x/older.jsonl'))).toBe(false);
});

it('is not carried with files in which secrets cannot be found', () => {
  put('.codex/sessions/s.jsonl', 'text');
  put('.codex/state.sqlite', Buffer.from([0xff, 0x00, 0xfe]));
  expect(packHome(dir, 'codex', redact)).toBeUndefined();
  expect(packHome(dir, 'custom', redact)).toBeUndefined();
});

it('is written below its own directories alone', () => {
  const files = { '.claude/../../evil': 'x', evil: 'x', '.claude/projects/fine': 'x' };
  unpackHome(join(dir, 'home'), 'claude', gzipSync(JSON.stringify(files)));
  expect(existsSync(join(dir, 'home/.claude/projects/fine'))).toBe(true);
  expect([join(dir, 'evil'), join(dir, 'home/evil')].some(existsSync)).toBe(false);
});

it('follows no link that an agent made in place of a directory above its own', () => {
  put('outside/opencode/mine.json', 'of the user');
  mkdirSync(join(dir, 'home'));
  symlinkSync(join(dir, 'outside'), join(dir, 'home/.config'));
  expect(packHome(join(dir, 'home'), 'opencode', redact)).toBeUndefined();
  const files = { '.config/opencode/evil.json': 'x' };
  unpackHome(join(dir, 'home'), 'opencode', gzipSync(JSON.stringify(files)));
  expect(readFileSync(join(dir, 'outside/opencode/mine.json'), 'utf8')).toBe('of the user');
  expect(existsSync(join(dir, 'outside/opencode/evil.json'))).toBe(false);
  expect(readFileSync(join(dir, 'home/.config/opencode/evil.json'), 'utf8')).toBe('x');
});
