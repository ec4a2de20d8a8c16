import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { it } from '../support/index.ts';
import { ANSWER, attempt, report, WORK } from './sandbox-support.ts';

describe('a sandboxed agent', () => {
  describe('that is a CLI with a home', () => {
    /** Answers as Claude Code does, after what it was told to do. */
    const cli = (body: string) => `cat > /dev/null\n${body}\n${ANSWER}`;

    it('writes nothing that the user or another ticket has', async ({ world }) => {
      const config = join(world.dir, 'user', '.claude');
      mkdirSync(join(config, 'projects', 'x'), { recursive: true });
      mkdirSync(join(config, 'skills'));
      writeFileSync(join(config, 'settings.json'), '{"model":"own"}');
      writeFileSync(join(config, '.credentials.json'), '{"token":"login"}');
      writeFileSync(join(config, 'projects', 'x', 's.jsonl'), 'private');
      writeFileSync(
        join(world.dir, 'user', '.claude.json'),
        '{"theme":"dark","projects":{"/x":{"history":["private"]}}}',
      );
      const body = [
        attempt('login', 'grep -q login ~/.claude/.credentials.json'),
        attempt('settings', 'grep -q own ~/.claude/settings.json'),
        attempt('state', 'grep -q dark "$CLAUDE_CONFIG_DIR/.claude.json"'),
        attempt('transcripts', 'grep -rq private ~/.claude'),
        attempt('skill', 'echo x > ~/.claude/skills/evil'),
        attempt('again', 'cat ~/.claude/projects/own/s-1.jsonl'),
        'echo evil > ~/.claude/settings.json; mkdir -p ~/.claude/projects/own',
        'echo mine > ~/.claude/projects/own/s-1.jsonl',
        `rm ~/.claude/.credentials.json; ln -s '${config}/settings.json' ~/.claude/.credentials.json`,
        'mkdir -p ~/.local/share/systemd/user; echo x > ~/.local/share/systemd/user/evil.service',
        'git add --all; git commit --allow-empty -qm Mine',
      ].join('\n');
      world.agent('agent', cli(body), { sandbox: 'bwrap', adapter: 'claude' });
      world.workflow('work', [
        { ...WORK, onSuccess: 'more' },
        { ...WORK, id: 'more' },
      ]);
      world.config({ maxConcurrency: 1 });
      world.plan('p', { tickets: { a: {}, b: { order: 1 } } });
      const env = { XDG_DATA_HOME: join(world.dir, 'user', '.local', 'share') };
      const run = await world.start(['run', 'p'], env).ended;
      expect(run.code, run.out + run.err).toBe(0);
      const seen = [
        'login worked',
        'settings worked',
        'state worked',
        'transcripts refused',
        'skill refused',
      ];
      for (const id of ['a', 'b'])
        expect(report(world, id)).toEqual([...seen, 'again refused', ...seen, 'again worked']);
      expect(readFileSync(join(config, 'settings.json'), 'utf8')).toBe('{"model":"own"}');
      expect(readdirSync(join(config, 'projects'))).toEqual(['x']);
      expect(readdirSync(join(config, 'skills'))).toEqual([]);
      expect(existsSync(join(world.dir, 'user', '.local'))).toBe(false);
    });

    it('has its session again where the user has no such home yet', async ({ world }) => {
      const body = [
        attempt('again', 'cat ~/.claude/s-1'),
        'echo x > ~/.claude/s-1; git add --all; git commit -qm Mine',
      ].join('\n');
      world.agent('agent', cli(body), { sandbox: 'bwrap', adapter: 'claude' });
      world.workflow('work', [
        { ...WORK, onSuccess: 'more' },
        { ...WORK, id: 'more' },
      ]);
      world.plan('p', { tickets: { a: {} } });
      const run = await world.cli('run', 'p');
      expect(run.code, run.out + run.err).toBe(0);
      expect(report(world)).toEqual(['again refused', 'again worked']);
      expect(existsSync(join(world.dir, 'user', '.claude'))).toBe(false);
    });
  });
});
