import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { git, it, runSpec, tasks, work, writeSpec } from './support.ts';

describe.concurrent('contract 2: a spec that cannot be run', () => {
  it.for([
    ['no tasks', '# Nothing\n', 'no task'],
    ['one id twice', '- [ ] 1. A\n- [ ] 1. B\n', 'tasks.md:2'],
    ['a cycle', '- [ ] 1. A\n  - _Depends: 2_\n- [ ] 2. B\n  - _Depends: 1_\n', 'wait for each other'],
    ['an unknown dependency', '- [ ] 1. A\n  - _Depends: 7_\n', '7'],
  ] as const)('because of %s ends with 5 and begins nothing', async ([, text, said], { world }) => {
    const dir = writeSpec(world, text);
    const { code, err } = await runSpec(world, dir);
    expect(code).toBe(5);
    expect(err.toLowerCase()).toContain(said.toLowerCase());
    expect(git(world.repo, 'branch', '--list', 'spec/*')).toBe('');
  });

  it.for([
    [['--delay', '-1'], '--delay'],
    [['--delay', 'soon'], '--delay'],
    [['--on-failure', 'panic'], '--on-failure'],
    [['--max-attempts', '0'], '--max-attempts'],
    [['--max-iterations', 'all'], '--max-iterations'],
    [['--backend', 'nobody'], '--backend'],
    [['--only', '9'], '--only'],
    [['--nonsense'], '--nonsense'],
  ] as const)('because of %s ends with 5', async ([flags, said], { world }) => {
    const dir = writeSpec(world, tasks('One'));
    const { code, err } = await runSpec(world, dir, ...flags);
    expect({ code, err }).toEqual({ code: 5, err: expect.stringContaining(said) });
  });
});

describe.concurrent('a spec with odd text', () => {
  it('reaches the agent byte for byte, however long it is', async ({ world }) => {
    world.agent(
      'agent',
      'cat > "$SIGNALBOX_STATE_DIR/got-$SIGNALBOX_PHASE.md"; commit Odd; echo "<promise>TASK_DONE</promise>"',
    );
    const odd = `It's "quoted" \`code\` $HOME $(date) \\n 😀 日本語 \u202e {{ title }} {% if %} a\tb`;
    const long = Array.from({ length: 300 }, (_, index) => `  - Detail ${index} ${odd}`).join('\r\n');
    const dir = writeSpec(world, `- [ ] 1. Odd ${odd}\r\n${long}\r\n- [ ] 2. Next\r\n`);
    expect((await runSpec(world, dir, '--only', '1')).code).toBe(0);
    const sent = world.promptOf('spec-limits', '1', 'implement.1.1');
    expect(Buffer.byteLength(sent)).toBeGreaterThan(20_000);
    expect(sent).toContain(`Detail 299 ${odd}`);
    expect(readFileSync(join(world.stateDir, 'got-implement.md'), 'utf8')).toBe(sent);
    const after = git(world.repo, 'show', 'spec/limits:.kiro/specs/limits/tasks.md');
    expect(after.startsWith(`- [x] 1. Odd ${odd}\r\n`)).toBe(true);
  });

  it('has ids that cannot be file names, and a name that cannot be a branch', { tags: 'full' }, async ({
    world,
  }) => {
    const dir = writeSpec(world, '- [ ] Tidy up / now: ~everything~\n- [ ] 1.2a Then this\n', {
      name: 'My feature: phase 1~',
    });
    const { code, result } = await runSpec(world, dir);
    expect(code).toBe(0);
    expect(result.planId).toBe('spec-my-feature-phase-1');
    expect(work(world, 'spec/my-feature-phase-1')).toHaveLength(4);
    expect(readFileSync(join(dir, 'tasks.md'), 'utf8')).toContain('- [ ] Tidy');
  });
});
