import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { it, runSpec, stateFile, story, tasks, withoutWaits, writeSpec } from './support.ts';

const GOOD = '<signalbox>{"outcome":"ui","owner":"default","criticality":"complex"}</signalbox>';

/** Says nonsense first, and the right thing once it is told what was wrong. */
const clerk = (log: string) => `prompt=$(cat)
case $prompt in
*'could not be used'*) printf '%s' "$prompt" > ${log}; echo '${GOOD}' ;;
*) echo 'I would take "somebody" <signalbox>{"outcome":"backend"}</signalbox>' ;;
esac`;

describe.concurrent('a result that does not fit, of an agent without sessions', () => {
  it('is put right in one fresh turn that knows question, answer and problem', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('clerk', clerk(`${world.dir}/repair.txt`));
    world.config({ defaultAgent: 'rehearsal' });
    const dir = writeSpec(world, tasks('Paint the page'), { assigned: false });
    expect((await runSpec(world, dir, '--assign-backend', 'clerk')).code).toBe(0);
    expect(stateFile(world).specs.limits?.assignments[1]).toMatchObject({ type: 'ui', by: 'agent' });
    const prompt = world.read('repair.txt');
    expect(prompt).toContain('Paint the page');
    expect(prompt).toContain('I would take "somebody"');
    expect(prompt).toMatch(/could not be used: .*outcome/);
    expect(world.calls('start', { ticket: 'spec-limits/1', attempt: 'assign.1.1' })).toHaveLength(2);
  });

  it('gets no second chance: the fallback is taken', { tags: 'full' }, async ({ world }) => {
    world.agent('clerk', 'cat > /dev/null; echo no idea');
    world.config({ defaultAgent: 'rehearsal' });
    const dir = writeSpec(world, tasks('One'), { assigned: false });
    expect((await runSpec(world, dir, '--assign-backend', 'clerk')).code).toBe(0);
    expect(world.calls('start', { ticket: 'spec-limits/1', attempt: 'assign.1.1' })).toHaveLength(2);
    expect(stateFile(world).specs.limits?.assignments[1]).toMatchObject({ by: 'fallback' });
  });

  it('is put right in other phases too, and what both turns cost is added up', async ({ world }) => {
    const say = (result: string) =>
      JSON.stringify({
        type: 'result',
        subtype: 'success',
        is_error: false,
        result,
        total_cost_usd: 0.25,
        usage: { input_tokens: 10, output_tokens: 5 },
      });
    const tagged = (outcome: string) => `<signalbox>{"outcome":"${outcome}"}</signalbox>`;
    world.agent(
      'judge',
      `if [ -e ${world.dir}/asked ]; then echo '${say(tagged('pass'))}'; else touch ${world.dir}/asked; echo '${say(tagged('hm'))}'; fi`,
      { adapter: 'claude' },
    );
    const output = { type: 'object', properties: { outcome: { enum: ['pass'] } }, required: ['outcome'] };
    world.workflow('work', [
      { id: 'review', type: 'agent', agent: 'judge', prompt: 'Judge.', output, on: { pass: 'done' } },
      { id: 'done', type: 'terminal' },
    ]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(0);
    const [attempt] = world.ticket('p', 'a').phaseHistory;
    expect(attempt).toMatchObject({ outcome: 'pass', usage: { costUsd: 0.5, inputTokens: 20 } });
    expect(world.promptOf('p', 'a', 'review.1.1.repair')).toContain('<asked>\nJudge.');
  });
});

describe.concurrent('contract 8: an agent that never answers whose a unit is', () => {
  it('is stopped in time, and the fallback is taken', async ({ world }) => {
    withoutWaits(world);
    const file = join(world.home, 'workflows', 'spec-task.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace('timeoutSeconds: 300', 'timeoutSeconds: 1'));
    world.agent('clerk', 'cat > /dev/null; exec sleep 600');
    world.config({ defaultAgent: 'rehearsal' });
    const dir = writeSpec(world, tasks('One'), { assigned: false });
    expect((await runSpec(world, dir, '--assign-backend', 'clerk')).code).toBe(0);
    expect(story(world.ticket('spec-limits', '1'))[0]).toBe('assign failure');
    expect(stateFile(world).specs.limits?.assignments[1]).toMatchObject({
      by: 'fallback',
      reason: 'took longer than 1 s',
    });
    expect(world.calls('start', { ticket: 'spec-limits/1', attempt: 'assign.1.1' })).toHaveLength(1);
  });
});
