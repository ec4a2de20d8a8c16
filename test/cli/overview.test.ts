import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { CliCall } from '../support/cli-call.ts';
import { git, it, type World } from './support.ts';

/** `signalbox` alone on a terminal of 80 columns, without colours. */
async function overview({ env, repo }: Pick<World, 'env' | 'repo'>, cwd = repo): Promise<string> {
  const place = { cwd, env: { ...env, NO_COLOR: '1' }, terminal: true, columns: 80 };
  const { code, out, err } = await new CliCall([], place).ended;
  expect({ code, err }).toEqual({ code: 0, err: '' });
  for (const line of out.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  expect([2, 3]).toContain(out.split('\nNext\n')[1]?.match(/^ {2}\w/gm)?.length);
  return out;
}

describe.concurrent('signalbox without a command, on a terminal', () => {
  it('shows what is here and what to type next, and writes nothing', async ({ world }) => {
    writeFileSync(
      join(world.repo, 'package.json'),
      JSON.stringify({ scripts: { test: 'true', lint: 'true', other: 'true' } }),
    );
    mkdirSync(join(world.repo, '.kiro', 'specs', 'limits'), { recursive: true });
    writeFileSync(join(world.repo, '.kiro', 'specs', 'limits', 'tasks.md'), '- [ ] 1. Do it\n');
    const before = [readdirSync(world.home), git(world.repo, 'status', '--porcelain')];
    const out = await overview(world);
    expect(out).toContain('\n  Checks      npm run lint, npm run test\n');
    expect(out).toContain('\n  Specs       .kiro/specs/limits\n');
    expect(out).toMatch(/\n {2}Forge {7}(origin, |no remote called origin: )/);
    expect(out).toContain('\nNext\n  Run     signalbox run --task "Fix the typo in README"');
    expect(out).toContain('\n  Spec    signalbox spec .kiro/specs/limits');
    expect(out).not.toContain('Open');
    expect([readdirSync(world.home), git(world.repo, 'status', '--porcelain')]).toEqual(before);
  });

  it('says what needs a person and how many tickets are open besides', async ({ world }) => {
    const failed = { status: 'failed', currentPhase: 'implement', error: 'no tests' } as const;
    world.plan('sprint', {
      tickets: { a: failed, b: failed, c: failed, d: failed, e: {}, f: { status: 'complete' } },
    });
    const out = await overview(world);
    expect(out).toContain('\nOpen\n  sprint: 4 tickets need you: ');
    expect(out).toContain('\n    → signalbox retry --failed sprint\n');
    expect(out).toContain('\n  1 running or waiting\n    → signalbox run sprint\n');
    expect(out).toContain('\n  Look  signalbox status\n');
  });

  it('says what continues a stopped run, and which finished work is not merged', async ({ world }) => {
    const base = { ref: 'main', commit: 'c', remote: null };
    const done = { status: 'complete', currentPhase: 'complete', branch: 'feature/a', base } as const;
    world.plan('stopped', { status: 'paused', kind: 'run', repo: world.repo, tickets: { a: {}, b: {} } });
    world.plan('done', { status: 'complete', repo: world.repo, tickets: { a: done } });
    const out = await overview(world);
    expect(out).toContain('\nOpen\n  2 paused\n    → signalbox resume stopped\n');
    expect(out).toContain('\n\nFinished, not merged\n  done: Work: 1 on its branch → signalbox merge done\n');
  });

  it('shows what is open in this repository, and only counts the rest', async ({ world }) => {
    const failed = { status: 'failed', currentPhase: 'implement', error: 'no tests' } as const;
    world.plan('there', { repo: join(world.dir, 'other'), tickets: { a: { ...failed, repo: null } } });
    world.plan('here', { repo: world.repo, tickets: { b: { repo: null } } });
    const out = await overview(world);
    expect(out).not.toContain('there/a');
    expect(out).toContain('\n  1 running or waiting\n    → signalbox run here\n');
    expect(out).toContain('\n  1 open plan of other repositories: signalbox status --all\n');
  });

  it('names the flag that a run needs where no pull request can be opened', async ({ world }) => {
    git(world.repo, 'remote', 'add', 'origin', 'https://gitlab.com/acme/web.git');
    const out = await overview(world);
    const words = out.replace(/\s+/g, ' ');
    expect(words).toContain(' is not on GitHub, so no pull request can be opened Checks ');
    expect(words).toMatch(/ Run signalbox run --task "Fix the typo in README"( --agent rehearsal)? --no-pr /);
  });

  it('says that a repository has no commit', async ({ world }) => {
    const fresh = join(world.dir, 'fresh');
    git(world.dir, 'init', '--quiet', fresh);
    const place = { cwd: fresh, env: { ...world.env, NO_COLOR: '1' }, terminal: true, columns: 80 };
    const { code, out } = await new CliCall([], place).ended;
    expect(code).toBe(0);
    expect(out).toMatch(/has\s+no\s+commit\s+to\s+start\s+from\.\n/);
  });

  it('has ASCII marks in a locale without UTF-8', async ({ world }) => {
    const failed = { status: 'failed', currentPhase: 'implement', error: 'no tests' } as const;
    world.plan('sprint', { tickets: { a: failed } });
    const place = { cwd: world.repo, terminal: true, columns: 80 };
    const inLocale = (locale: NodeJS.ProcessEnv) =>
      new CliCall([], { ...place, env: { ...world.env, ...locale } }).ended;
    for (const locale of [{ LC_ALL: 'C' }, { LC_ALL: '', LANG: 'de_DE.ISO-8859-1' }, { LANG: '' }]) {
      const { out } = await inLocale(locale);
      expect(out).toContain('\n    > signalbox retry sprint a\n');
      // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
      expect(out).toMatch(/^[\x00-\x7f]*$/);
    }
    expect((await inLocale({ LC_CTYPE: 'en_US.utf8' })).out).toContain('→ signalbox retry');
    const piped = await world.invoke(['status'], { LC_ALL: 'C' }).ended;
    expect(piped.out).toContain('✗');
  });

  it('says why the settings cannot be used, such as those of a project that is not trusted', async ({
    world,
  }) => {
    mkdirSync(join(world.repo, '.signalbox'));
    writeFileSync(join(world.repo, '.signalbox', 'settings.json'), '{"version": 1, "checks": ["make"]}');
    const out = await overview(world);
    expect(out.replace(/\s+/g, ' ')).toContain('"checks" decides what is run, and you have not trusted');
    expect(out).toMatch(/^ +signalbox config trust /m);
    expect(out).not.toContain('signalbox run');
    expect(out).toContain('\n  Set up  signalbox doctor\n');
  });

  it('says that the store of a fleet is out of reach, beside what it found here', async ({ world }) => {
    const away = { ...world.env, SIGNALBOX_STORE: 'postgres://ann@127.0.0.1:1/signalbox' };
    const out = await overview({ repo: world.repo, env: away });
    expect(out).toContain(`\n  Repository  ${world.repo}\n`);
    // On a busy machine even a refusal comes late.
    expect(out).toMatch(
      /\n {2}Plans {7}(Cannot reach the store postgres:|The store of the fleet has not answered)/,
    );
    expect(out).not.toContain('signalbox run');
    expect(out).toContain('\n  Set up  signalbox doctor\n');
  });

  it('does not wait for the store of a fleet that is silent', async ({ world }) => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const SIGNALBOX_STORE = `postgres://ann@127.0.0.1:${port}/signalbox`;
    const out = await overview({ repo: world.repo, env: { ...world.env, SIGNALBOX_STORE } });
    expect(out).toContain('\n  Plans       The store of the fleet has not answered yet.\n');
    silent.close();
  });

  it('says so outside a repository', async ({ world }) => {
    mkdirSync(join(world.dir, 'elsewhere'));
    const out = await overview(world, join(world.dir, 'elsewhere'));
    expect(out).toContain('Repository  none here; Signalbox works on a git repository\n');
    expect(out).not.toContain('signalbox run');
  });
});
