import { describe, expect } from 'vitest';
import { it, story } from '../support/index.ts';

const OVER = { id: 'build', type: 'agent', prompt: 'Build.', maxRetries: 0 };
const DONE = { when: {}, do: [{ write: { path: 'x.txt', text: 'x' } }, { commit: 'Done' }] };
describe('an agent that repeats itself', () => {
  it.concurrent('is stopped, and the next attempt has a session of its own', async ({ world }) => {
    const same = Array.from({ length: 30 }, () => ({ tool: { name: 'read', summary: 'a.txt' } }));
    world.rehearsal([{ when: { attempt: 1 }, do: [...same, { hang: {} }] }, DONE]);
    world.workflow('work', [{ ...OVER, maxRetries: 1 }]);
    world.config({ defaultAgent: 'rehearsal' });
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(0);
    const [first, second] = world.ticket('p', 'a').phaseHistory;
    expect(first).toMatchObject({ status: 'failure', error: { class: 'loop' } });
    expect(first?.error?.message).toContain('called read 30 times in a row with the same input and result');
    expect(second).toMatchObject({ status: 'success' });
    expect(second?.sessionId).not.toBe(first?.sessionId);
  });
});

describe('a very long line of an agent', () => {
  const print = (megabytes: number, end: string) =>
    `head -c ${megabytes * 1024 * 1024} /dev/zero | tr '\\0' x; echo '${end}'`;
  const OUTPUT = { type: 'object', properties: { outcome: { enum: ['success'] } } };

  it.concurrent('keeps its result', { tags: 'full' }, async ({ world }) => {
    world.agent('big', print(40, '<signalbox>{"outcome":"success"}</signalbox>'));
    world.config({ defaultAgent: 'big' });
    world.workflow('work', [
      { ...OVER, output: OUTPUT, repair: false, on: { success: 'end' } },
      { id: 'end', type: 'terminal' },
    ]);
    world.plan('p', { tickets: { a: {} } });
    const { code, out } = await world.cli('run', 'p');
    expect(code, out).toBe(0);
  });

  it.concurrent('above 64 MB fails as a protocol error that names the file', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('big', print(65, 'done'));
    world.config({ defaultAgent: 'big' });
    world.workflow('work', [OVER]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    const [attempt] = world.ticket('p', 'a').phaseHistory;
    expect(attempt?.error).toMatchObject({ class: 'protocol' });
    expect(attempt?.error?.message).toMatch(
      /a line of more than 64 MB, which was not read: \S+\/build\.1\.1\/stdout$/,
    );
  });
});

describe('warnings of an agent', () => {
  it.concurrent('are shown by run -v and status', async ({ world }) => {
    const lines = [
      { type: 'system', subtype: 'init', session_id: 's-1' },
      {
        type: 'rate_limit_event',
        rate_limit_info: { status: 'allowed_warning', rateLimitType: 'five_hour', utilization: 0.93 },
      },
      {
        type: 'result',
        subtype: 'success',
        is_error: false,
        result: 'Done.',
        permission_denials: [{ tool_name: 'Bash' }, { tool_name: 'Bash' }],
      },
    ];
    world.agent('claude', `cat <<'END'\n${lines.map((each) => JSON.stringify(each)).join('\n')}\nEND`, {
      adapter: 'claude',
    });
    world.config({ defaultAgent: 'claude' });
    world.workflow('work', [{ ...OVER, expect: { commits: true } }]);
    world.plan('p', { tickets: { a: {} } });
    const { out } = await world.cli('run', 'p', '-v');
    expect(out).toContain('│ warning: The five hour limit is near: 93% used.');
    expect(out).toContain('│ warning: Tools were denied: Bash.');
    expect(story(world.ticket('p', 'a'))).toEqual(['build failure']);
    const status = await world.cli('status', '--plan', 'p');
    expect(status.out).toContain('! Tools were denied: Bash.');
    const json = JSON.parse((await world.cli('status', '--plan', 'p', '--json')).out) as unknown;
    expect(JSON.stringify(json)).toContain('"warning":"Tools were denied: Bash."');
  });
});
