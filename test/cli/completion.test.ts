import { describe, expect } from 'vitest';
import { it, refusal, shell, type World } from './support.ts';

/** What bash would offer for the words so far. */
async function offered(world: World, ...words: string[]): Promise<string[]> {
  const line = `eval "$($SIGNALBOX completion bash)"
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

  it('completes commands, subcommands and flags', async ({ world }) => {
    expect(await offered(world, 'resu')).toEqual(['resume', 'resume-plan', 'resume-session']);
    expect(await offered(world, 'plan', 'a')).toEqual(['approve', 'archive', 'add']);
    expect(await offered(world, 'daemon', '--c')).toEqual(['--concurrency']);
    expect(await offered(world, 'nothing', '')).toEqual([]);
  });

  it('knows every command in fish and zsh, too', async ({ world }) => {
    const words = await world.json<Record<string, string[]>>('completion', 'bash');
    expect(words['']).toEqual(expect.arrayContaining(['run', 'daemon', 'status', '--version']));
    expect(words.workflow).toEqual(['list', 'show', 'check', 'graph']);
    const fish = (await world.cli('completion', 'fish')).out;
    const zsh = (await world.cli('completion', 'zsh')).out;
    for (const name of Object.keys(words).filter(Boolean)) {
      expect(fish).toContain(`__fish_seen_subcommand_from ${name}"`);
      expect(zsh).toContain(`      ${name}) words=`);
    }
  });

  it('refuses a shell it does not know', async ({ world }) => {
    const ended = await world.cli('completion', 'cmd');
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toBe('❌ There is no completion for "cmd".\n   Use one of: bash, zsh, fish.\n');
  });
});
