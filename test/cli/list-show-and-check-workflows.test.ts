import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { errorIn, it, refusal, setUp, write } from './support.ts';

describe.concurrent('workflow', () => {
  it('list names those of the user before those of the package', async ({ world }) => {
    setUp(world);
    const { out, code } = await world.cli('workflow', 'list');
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`^work +.* \\(${join(world.home, 'workflows', 'work.yaml')}\\)$`, 'm'));
    expect(out).toMatch(/^local +Implement, check, review and merge/m);
    const rows = await world.json<{ name: string; readable: boolean }[]>('workflow', 'list');
    expect(rows.filter(({ readable }) => readable).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['local', 'minimal', 'work']),
    );
  });

  it('show and graph draw one', async ({ world }) => {
    setUp(world);
    const { out } = await world.cli('workflow', 'show', 'local');
    expect(out).toContain('implement.md');
    expect(out).toMatch(/^ {2}checks +Runs the project’s own checks as one job$/m);
    expect(await world.json('workflow', 'show', 'work')).toMatchObject({
      name: 'work',
      workflow: { name: 'work' },
    });
    expect((await world.cli('workflow', 'graph', 'work', '--mermaid')).out).toMatch(/^flowchart|^graph/m);
    expect((await world.cli('workflow', 'graph', 'work')).out).toContain('build');
  });

  it('check names scripts that run instead of actions', async ({ world }) => {
    setUp(world);
    const path = world.script('checks.sh', 'exit 0');
    const { code, out } = await world.cli('workflow', 'check', 'local');
    expect({ code, out }).toEqual({
      code: 0,
      out: `local: phase "checks" runs ${path} instead of the action "checks".\nNo problems in local.\n`,
    });
    expect(await world.json('workflow', 'check', 'local')).toMatchObject([
      { name: 'local', problems: [], notes: [expect.stringContaining(path)] },
    ]);
    chmodSync(path, 0o644);
    expect((await world.cli('workflow', 'check', 'local')).out).toContain(
      `The script ${path} is not executable.`,
    );
  });

  it('check ends with 1 and names file, line and column', { tags: 'full' }, async ({ world }) => {
    setUp(world);
    expect(await world.cli('workflow', 'check')).toMatchObject({ code: 0 });
    const file = write(world, 'bad.yaml', 'name: bad\nphases:\n  - id: a\n    type: agent\n    promt: x\n');
    const { code, out } = await world.cli('workflow', 'check', 'bad.yaml');
    expect(code).toBe(1);
    expect(out).toMatch(/bad\.yaml:5:5: .*promt.*prompt/);
    expect(out).toMatch(/\d problems?\.\n$/);
    const [checked] = await world.json<{ problems: { line: number; column: number }[] }[]>(
      'workflow',
      'check',
      file,
    );
    expect(checked?.problems[0]).toMatchObject({ line: 5, column: 5 });
  });

  it('show refuses a name it does not know and suggests one', async ({ world }) => {
    setUp(world);
    const ended = await world.cli('workflow', 'show', 'lcoal');
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toContain('Did you mean "local"?');
  });
});

describe.concurrent('config and doctor', () => {
  it('config says where every value comes from, and hides the values of variables', async ({ world }) => {
    setUp(world);
    world.agent('agent', 'commit', { env: { API_KEY: 'hunter2' } });
    const { out, code } = await world.invoke(['config'], { SIGNALBOX_MAX_CONCURRENCY: '7' }).ended;
    expect(code).toBe(0);
    expect(out).toMatch(/^maxConcurrency +7 +.*SIGNALBOX_MAX_CONCURRENCY/m);
    expect(out).toMatch(new RegExp(`^defaultWorkflow +work +${join(world.home, 'config.yaml')}`, 'm'));
    expect(out).not.toContain('hunter2');
    expect(await world.json('config')).toMatchObject({
      configFile: join(world.home, 'config.yaml'),
      settings: { pollInterval: { value: 60 } },
    });
    expect((await world.cli('config', 'path')).out).toBe(`${join(world.home, 'config.yaml')}\n`);
  });

  it('doctor goes on with a broken config, says what is wrong and ends with 1', async ({ world }) => {
    setUp(world);
    write(world, 'home/config.yaml', 'maxConcurrency: many\n');
    const { out, code, err } = await world.cli('doctor');
    expect({ code, err }).toEqual({ code: 1, err: '' });
    expect(out).toMatch(/✗ config +.*config\.yaml:1:17/);
    expect(out).toMatch(/✓ git /);
    const { ok, findings } = await world.json<{ ok: boolean; findings: { level: string }[] }>('doctor');
    expect(ok).toBe(false);
    expect(findings.map(({ level }) => level)).toContain('bad');
  });

  it('errors of the config are told as JSON on request', async ({ world }) => {
    setUp(world);
    write(world, 'home/config.yaml', 'maxConcurency: 3\n');
    const ended = await world.cli('status', '--json');
    expect(ended.code).toBe(2);
    expect(errorIn(ended)).toMatchObject({
      code: 'config/unknown-key',
      message: expect.stringContaining('config.yaml:1:1'),
    });
  });
});
