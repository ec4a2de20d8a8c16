import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { it, refusal, setUp, shell, type World, write } from './support.ts';

/** What bash would offer for the words so far. */
async function offered(world: World, ...words: string[]): Promise<string[]> {
  const line = `signalbox() { $SIGNALBOX "$@"; }
    eval "$($SIGNALBOX completion bash)"
    COMP_WORDS=(signalbox ${words.map((word) => `'${word}'`).join(' ')}) COMP_CWORD=${words.length}
    _signalbox; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { out, err, code } = await shell(world, line, 'bash');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out.split('\n').filter(Boolean);
}

describe.concurrent('completion', () => {
  it('is valid bash and says nothing by itself', async ({ world }) => {
    expect(await shell(world, '$SIGNALBOX completion bash | bash -n', 'bash')).toMatchObject({
      code: 0,
      err: '',
    });
    expect((await shell(world, 'eval "$($SIGNALBOX completion bash)"', 'bash')).out).toBe('');
  });

  it('completes commands, subcommands and flags', { tags: 'full' }, async ({ world }) => {
    expect(await offered(world, 'resu')).toEqual(['resume', 'resume-session', 'resume-plan']);
    expect(await offered(world, 'plan', 'a')).toEqual(['approve', 'archive', 'add']);
    expect(await offered(world, 'daemon', '--c')).toEqual(['--concurrency']);
    expect(await offered(world, 'plan', 'new', '--b')).toEqual(['--base']);
    expect(await offered(world, 'plan', 'new', '--base', 'main', '--w')).toEqual([
      '--workflow',
      '--worker-labels',
      '--worktree-root',
    ]);
    expect(await offered(world, 'doctor', '')).toEqual(['--agents', '--json']);
    expect(await offered(world, 'help', 'stat')).toEqual(['status', 'stats']);
    expect(await offered(world, 'nothing', '')).toEqual([]);
  });

  it.for([
    ['-C', 'x.yaml'],
    ['--config', 'x.yaml'],
    ['--config', '=', 'x.yaml'],
    ['--config=x.yaml'],
    ['--debug'],
  ])('goes on after %s', { tags: 'full' }, async (before, { world }) => {
    expect(await offered(world, ...before, 'resume-')).toEqual(['resume-session', 'resume-plan']);
    expect(await offered(world, ...before, 'plan', 'ad')).toEqual(['add']);
    expect(await offered(world, 'plan', ...before, 'new', '--b')).toEqual(['--base']);
  });

  it('offers values where they are known, and no wrong words where not', {
    tags: 'full',
  }, async ({ world }) => {
    writeFileSync(join(world.dir, 'a file.md'), '');
    expect(await offered(world, 'completion', '')).toEqual(['bash', 'zsh', 'fish']);
    expect(await offered(world, 'run', '--agent', 'c')).toEqual(['claude', 'codex']);
    expect(await offered(world, 'import', '--state', '')).toEqual(['open', 'closed', 'all']);
    expect(await offered(world, 'plan', 'new', '--name', '')).toEqual([]);
    expect(await offered(world, 'status', 'a')).toEqual([]);
  });

  it('offers plans, open tickets, phases, workflows and agents', async ({ world }) => {
    setUp(world, 'commit', { one: {}, two: { status: 'complete' } });
    expect(await offered(world, 'status', '')).toEqual(['p', '@last', 'one']);
    expect(await offered(world, 'status', '@', 'la')).toEqual(['@last']);
    expect(await offered(world, 'skip', '@', 'last', '')).toEqual(['one']);
    expect(await offered(world, 'retry', '--failed', '')).toEqual(['p', '@last']);
    expect(await offered(world, 'skip', 'p', '')).toEqual(['one']);
    expect(await offered(world, 'skip', 'one', 'b')).toEqual(['build']);
    expect(await offered(world, 'workflow', 'show', 'wo')).toEqual(['work']);
    expect(await offered(world, 'run', '--agent', 'ag')).toEqual(['agent']);
  });

  it('offers finished plans to commands that show or merge them', async ({ world }) => {
    world.plan('p', { status: 'complete', tickets: { one: { status: 'complete' } } });
    const names = async (...words: string[]) => (await world.cli('__complete', '', ...words)).out.trim();
    expect(await names('shown,ticket')).toBe('p\n@last');
    expect(await names('merged,ticket')).toBe('p\n@last');
    expect(await names('plan,ticket')).toBe('');
    const bash = (await world.cli('completion', 'bash')).out;
    expect(bash).toMatch(/"\/merge "\*\) .*names="merged,ticket"/);
    expect(bash).toMatch(/"\/logs "\*\) .*names="shown,ticket"/);
  });

  it.for([
    [['plan', 'ticket', 'phase'], ['p'], ['one']],
    [
      ['plan', 'ticket', 'phase'],
      ['p', 'one'],
      ['build', 'done', 'stuck'],
    ],
    [['plan', 'ticket', 'phase'], ['p', 'one', 'build'], []],
    [['plan', 'ticket'], ['one'], []],
    [['plan'], [], ['p', '@last']],
    [['plan'], ['p'], []],
    [['plan', 'ticket'], ['@last'], ['one']],
    [['plan', 'ticket'], ['--failed'], ['p', '@last']],
    [['plan', 'ticket'], ['--failed', 'p'], []],
    [['what', 'ticket'], [], ['p']],
    [['what'], [], ['p']],
    [['merged', 'ticket'], [], ['p', '@last', 'two']],
    [['merged', 'ticket'], ['p'], ['two']],
    [['what'], ['p', 'one'], ['one']],
    [['what'], ['file.md'], []],
    [['phase'], ['p', 'one'], ['build', 'done', 'stuck']],
  ] as const)('of %j behind %j there are %j', { tags: 'full' }, async ([names, args, list], { world }) => {
    setUp(world, 'commit', { one: {}, two: { status: 'complete' } });
    const { out, err, code } = await world.cli('__complete', '', names.join(','), ...args);
    expect({ err, code }).toEqual({ err: '', code: 0 });
    expect(out.split('\n').filter(Boolean)).toEqual(list);
  });

  it('says nothing if the state or the settings cannot be read', async ({ world }) => {
    for (const kind of ['plan', 'agent', 'workflow']) {
      const config = write(world, 'bad.yaml', 'slots: many\n');
      expect(await world.cli('__complete', config, kind)).toMatchObject({ code: 0, out: '', err: '' });
      expect(await world.cli('__complete', '/nowhere', kind)).toMatchObject({ code: 0, out: '', err: '' });
    }
  });

  it.for([
    ['run'],
    ['run', 'other.md'],
    ['import'],
    ['init', '--dir'],
    ['config', 'trust'],
    ['workflow', 'check'],
    ['-C'],
    ['status', '--config', '='],
    ['plan', 'add', '--description-file'],
  ])('offers files after %s', { tags: 'full' }, async (before, { world }) => {
    mkdirSync(join(world.dir, 'docs of mine'));
    writeFileSync(join(world.dir, 'docs of mine', 'cache.md'), '');
    expect(await offered(world, ...before, 'doc')).toEqual(['docs of mine']);
    expect(await offered(world, ...before, 'docs of mine/')).toEqual(['docs of mine/cache.md']);
  });

  it('knows every command in fish and zsh, too', async ({ world }) => {
    const words = await world.json<Record<string, string[]>>('completion', 'bash');
    expect(words['']).toEqual(expect.arrayContaining(['run', 'daemon', 'status', '--version']));
    expect(words.workflow).toEqual(['list', 'show', 'check', 'graph']);
    expect(words['plan new']).toContain('--worktree-root');
    const fish = (await world.cli('completion', 'fish')).out;
    const zsh = (await world.cli('completion', 'zsh')).out;
    for (const [name, list] of Object.entries(words).filter(([at]) => at)) {
      const at = `/${name.replaceAll(' ', '/')}`;
      expect(fish).toMatch(new RegExp(`contains -- "\\$at/\\$word" .*${at}( |$)`, 'm'));
      expect(zsh).toContain(`      "${at} "*) list=`);
      for (const flag of list.filter((word) => word.startsWith('--')))
        expect(fish).toMatch(new RegExp(`-n "__signalbox_at '${at}'" .*-l ${flag.slice(2)}\\b`));
    }
    expect(fish).toContain('complete -c signalbox -f\n');
    expect(fish).toContain(`complete -c signalbox -s C -l config -r -F`);
    expect(fish).toContain(`-n "__signalbox_at '/run'" -F\n`);
    expect(fish).toContain(`-n "__signalbox_at '/config/trust'" -F\n`);
    expect(fish).toContain(`-n "__signalbox_at '/completion'" -a "bash zsh fish"\n`);
    expect(zsh).toMatch(/^#compdef signalbox\n/);
    expect(zsh).toContain('_files');
  });

  it('refuses a shell it does not know', async ({ world }) => {
    const ended = await world.cli('completion', 'cmd');
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toBe('❌ There is no completion for "cmd".\n   Use one of: bash, zsh, fish.\n');
  });
});
