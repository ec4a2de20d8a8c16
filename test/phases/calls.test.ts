import { describe, expect } from 'vitest';
import { it, story, type World } from '../support/index.ts';

const TITLE = `A "quoted" $HOME 'title'\nwith {{ braces }}`;

/** What a process was given, as it saw it. */
const DUMP = (dir: string) => `
  out='${dir}/'$SIGNALBOX_TICKET-$SIGNALBOX_PHASE
  for arg in "$@"; do printf '%s\\0' "$arg"; done > "$out.args"
  cat > "$out.stdin"
  env > "$out.env"
  [ -z "$SIGNALBOX_PROMPT_FILE" ] || [ ! -e "$SIGNALBOX_PROMPT_FILE" ] || cp "$SIGNALBOX_PROMPT_FILE" "$out.prompt"`;

function argsOf(world: World, name: string): string[] {
  return world.read(`${name}.args`).split('\0').slice(0, -1);
}

function envOf(world: World, name: string): Record<string, string> {
  const lines = world.read(`${name}.env`).split('\n');
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}

describe('what agents and scripts are given', () => {
  it.concurrent('a custom agent gets its prompt on stdin, in a file, or as an argument', async ({
    world,
  }) => {
    world.agent('agent', DUMP(world.dir), {
      defaultArgs: ['--model', '{model}', '--file', '{promptFile}'],
      model: 'small',
    });
    world.agent('byArgument', DUMP(world.dir), {
      defaultArgs: ['-p', 'Please: {prompt}'],
      env: { EXTRA: 'yes' },
    });
    world.workflow('work', [
      {
        id: 'one',
        type: 'agent',
        prompt: 'One: {{ title }}',
        effort: 'low',
        access: 'full',
        maxTurns: 7,
        onSuccess: 'two',
      },
      {
        id: 'two',
        type: 'agent',
        agent: 'byArgument',
        prompt: 'Two: {{ title }}',
        allowedTools: ['Read', 'Grep'],
        model: 'large',
      },
    ]);
    world.plan('p', { tickets: { a: { title: TITLE } } });
    const { code, out } = await world.cli('run', 'p');
    expect(code, out).toBe(0);
    expect(world.read('a-one.stdin')).toBe(`One: ${TITLE}`);
    expect(world.read('a-one.prompt')).toBe(`One: ${TITLE}`);
    const env = envOf(world, 'a-one');
    expect(argsOf(world, 'a-one')).toEqual(['--model', 'small', '--file', env.SIGNALBOX_PROMPT_FILE]);
    expect(env).toMatchObject({
      SIGNALBOX_PLAN: 'p',
      SIGNALBOX_TICKET: 'a',
      SIGNALBOX_PHASE: 'one',
      SIGNALBOX_ATTEMPT: '1',
      SIGNALBOX_WORKTREE: world.worktree('p', 'a'),
      SIGNALBOX_BRANCH: 'ticket/p/a',
      SIGNALBOX_ACCESS: 'full',
      SIGNALBOX_EFFORT: 'low',
      SIGNALBOX_MAX_TURNS: '7',
      PWD: world.worktree('p', 'a'),
    });
    expect(argsOf(world, 'a-two')).toEqual(['-p', `Please: Two: ${TITLE}`]);
    expect(world.read('a-two.stdin')).toBe('');
    expect(world.read('a-two.prompt')).toBe(`Two: ${TITLE}`);
    expect(envOf(world, 'a-two')).toMatchObject({
      SIGNALBOX_ALLOWED_TOOLS: 'Read,Grep',
      SIGNALBOX_MODEL: 'large',
      EXTRA: 'yes',
    });
  });

  it.concurrent('a script gets its arguments rendered and never through a shell', async ({ world }) => {
    world.script('dump.sh', DUMP(world.dir));
    const args = ['{{ title }}', '$(touch pwned) {{ ticketId }}', '', '--base={{ base_commit }}'];
    world.workflow('work', [{ id: 'one', type: 'script', command: 'dump.sh', args }]);
    world.plan('p', { tickets: { a: { title: TITLE } } });
    expect((await world.cli('run', 'p')).code).toBe(0);
    const base = world.ticket('p', 'a').base?.commit;
    expect(argsOf(world, 'a-one')).toEqual([TITLE, '$(touch pwned) a', '', `--base=${base}`]);
    expect(world.read('a-one.stdin')).toBe('');
    expect(envOf(world, 'a-one')).toMatchObject({ SIGNALBOX_PHASE: 'one', SIGNALBOX_BASE: base });
  });

  it.concurrent('the agent of the phase goes before the ticket’s, the plan’s and the default', {
    tags: 'full',
  }, async ({ world }) => {
    for (const name of ['agent', 'ofPlan', 'ofTicket', 'ofPhase', 'ofFlag'])
      world.agent(name, `note ${name}`);
    world.workflow('work', [
      { id: 'one', type: 'agent', prompt: 'x', onSuccess: 'two' },
      { id: 'two', type: 'agent', agent: 'ofPhase', prompt: 'x' },
    ]);
    world.plan('p', { agent: 'ofPlan', tickets: { a: { agent: 'ofTicket' }, b: {} } });
    world.plan('q', { tickets: { c: {} } });
    world.plan('r', { tickets: { d: {} } });
    await world.cli('run', 'p');
    await world.cli('run', 'q');
    await world.cli('run', 'r', '--agent', 'ofFlag');
    const used = (ticket: string) =>
      world
        .calls(undefined, { ticket })
        .map((call) => call.what)
        .filter((what) => what !== 'start' && what !== 'end');
    expect(used('p/a')).toEqual(['ofTicket', 'ofPhase']);
    expect(used('p/b')).toEqual(['ofPlan', 'ofPhase']);
    expect(used('q/c')).toEqual(['agent', 'ofPhase']);
    expect(used('r/d')).toEqual(['ofFlag', 'ofPhase']);
    expect(world.ticket('p', 'a').phaseHistory.map((entry) => entry.agent)).toEqual(['ofTicket', 'ofPhase']);
  });

  it.concurrent('a megabyte of prompt is refused, and one too long for an argument says what to do', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', 'commit');
    world.agent('byArgument', 'commit', { defaultArgs: ['{prompt}'] });
    world.workflow('work', [{ id: 'one', type: 'agent', prompt: '{{ description }}', maxRetries: 2 }]);
    world.plan('p', {
      tickets: {
        huge: { description: 'x'.repeat(1_100_000) },
        long: { description: 'x'.repeat(200_000), agent: 'byArgument' },
        fits: { description: 'x'.repeat(900_000) },
      },
    });
    await world.cli('run', 'p');
    for (const [id, said] of Object.entries({
      huge: /bytes|1 MB/i,
      long: /too long for an argument .*stdin.*\{promptFile\}/,
    })) {
      const ticket = world.ticket('p', id);
      expect(story(ticket), id).toEqual(['one failure']);
      expect(ticket.error, id).toMatch(said);
    }
    expect(world.ticket('p', 'fits').status).toBe('complete');
    expect(world.promptOf('p', 'fits', 'one.1.1')).toHaveLength(900_000);
  });
});
