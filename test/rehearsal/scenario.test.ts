import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERROR_CLASSES } from '../../src/model/ticket.ts';
import { loadScenario } from '../../src/rehearsal/load-scenario.ts';
import { matchRule, type Situation } from '../../src/rehearsal/scenario-rules.ts';
import { makeBench } from './agent.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'scenario-'));
});
afterAll(() => rmSync(dir, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}
const load = (value: unknown) => loadScenario(file('scenario.json', JSON.stringify(value)));
const acts = (...steps: unknown[]) => load([{ do: steps }]);

describe('a scenario file', () => {
  it('is YAML or JSON by its name', async () => {
    const yaml = file('a.yaml', "- when: {ticket: 'ok*'}\n  do: [say: Hello, hang]\n");
    const json = file('a.json', '[{"when":{"ticket":"ok*"},"do":[{"say":"Hello"},{"hang":{}}]}]');
    expect(await loadScenario(yaml)).toEqual(await loadScenario(json));
  });

  it('takes every error class of the model', async () => {
    for (const kind of ERROR_CLASSES) await acts({ fail: { class: kind, message: 'x' } });
  });

  it('names the line of a YAML error', async () => {
    const path = file('broken.yaml', '- when: {ticket: a}\n  do:\n   - say: "open\n');
    await expect(loadScenario(path)).rejects.toThrow(/broken\.yaml is not YAML: .* at line [34]/);
  });

  it('names a file that is not there, and JSON that is none', async () => {
    await expect(loadScenario(join(dir, 'absent.yaml'))).rejects.toThrow(/absent\.yaml cannot be read/);
    await expect(loadScenario(file('broken.json', '[{'))).rejects.toThrow(/broken\.json is not JSON/);
  });

  it('names file, line, rule and step of a problem', async () => {
    const path = file('wrong.yaml', '- do:\n    - say: Hello\n- when: {phase: a}\n  do:\n    - wait: 61\n');
    await expect(loadScenario(path)).rejects.toThrow(
      `Scenario ${path}, line 5, rule 2, step 1, wait, seconds: must be a number from 0 to 60, not 61.`,
    );
  });

  it.each<[unknown, string]>([
    [{ rules: [] }, 'a scenario is a list of rules'],
    [['say'], 'must be a map with when, do'],
    [[{ when: {} }], 'needs "do"'],
    [[{ do: [] }], 'at least one step'],
    [[{ wen: {}, do: ['hang'] }], 'unknown key "wen"; allowed are when, do'],
    [[{ when: { tickt: 'a' }, do: ['hang'] }], 'unknown key "tickt"'],
    [[{ when: { visit: 0 }, do: ['hang'] }], 'rule 1, when, visit: must be a whole number from 1'],
    [[{ when: { resumed: 'yes' }, do: ['hang'] }], 'must be true or false'],
  ])('refuses %j', async (value, message) => {
    await expect(load(value)).rejects.toThrow(message);
  });

  it.each<[unknown, string]>([
    [{ sya: 'Hello' }, 'unknown step "sya"; there are write, commit'],
    ['say', 'needs "text"'],
    [{ say: '' }, 'must be a text that is not empty'],
    [{ say: 'a', wait: 1 }, 'must be one step'],
    [['say'], 'must be one step'],
    [{ write: { path: 'a' } }, 'needs either text or append'],
    [{ write: { path: 'a', text: 'a', append: 'b' } }, 'needs either text or append'],
    [{ write: { path: '../a', text: '' } }, 'stays in the worktree'],
    [{ write: { path: '/etc/a', text: '' } }, 'stays in the worktree'],
    [{ write: { path: 'a/../../b', text: '' } }, 'stays in the worktree'],
    [{ write: { path: '.git/config', text: '' } }, 'out of .git'],
    [{ write: { path: '', text: '' } }, 'stays in the worktree'],
    [{ fail: { class: 'bored', message: 'x' } }, 'must be one of auth, billing'],
    [{ crash: {} }, 'needs either signal or code'],
    [{ crash: { signal: 'SIGWINCH' } }, 'must be one of SIGKILL'],
    [{ crash: { code: 256 } }, 'an exit code'],
    [{ limit: -1 }, 'must be a number'],
    [{ print: 'much' }, 'must be a whole number'],
    [{ usage: { tokens: 1 } }, 'unknown key "tokens"'],
    [{ constructor: 1 }, 'unknown step "constructor"'],
  ])('refuses the step %j', async (step, message) => {
    await expect(acts(step)).rejects.toThrow(message);
  });

  it('refuses steps after the end', async () => {
    await expect(acts({ limit: 1 }, { say: 'More' })).rejects.toThrow('no step may follow');
  });
});

describe('matching', () => {
  const now: Situation = {
    plan: 'p',
    ticket: 'docs-1',
    phase: 'implement',
    visit: 2,
    attempt: 1,
    resumed: true,
  };

  it.each([
    [{}, true],
    [{ ticket: 'docs-*' }, true],
    [{ ticket: 'docs-?' }, true],
    [{ ticket: 'docs' }, false],
    [{ ticket: 'docs.1' }, false],
    [{ ticket: '*', phase: 'review' }, false],
    [{ visit: 2, attempt: 1 }, true],
    [{ visit: 1 }, false],
    [{ resumed: false }, false],
  ])('%j is %s', (when, matches) => {
    expect(matchRule([{ when, do: [] }], now) !== undefined).toBe(matches);
  });

  it('takes the first rule that matches', () => {
    const rules = [
      { when: { visit: 1 }, do: [] },
      { when: { visit: 2 }, do: [] },
      { when: {}, do: [] },
    ];
    expect(matchRule(rules, now)).toBe(rules[1]);
  });
});

describe('the agent with a scenario', () => {
  it('reads it from the environment, tells resumed from new, and falls back to its defaults', {
    tags: 'full',
  }, async () => {
    const bench = makeBench();
    try {
      const scenario = file(
        'env.yaml',
        '- when: {phase: implement, resumed: true}\n  do: [result: Resumed]\n- when: {phase: implement}\n  do: [result: New]\n',
      );
      const env = { SIGNALBOX_REHEARSAL: scenario };
      expect((await bench.rehearse({ env })).last?.text).toBe('New');
      expect((await bench.rehearse({ env, resume: true })).last?.text).toBe('Resumed');
      const other = await bench.rehearse({ env: { ...env, SIGNALBOX_PHASE: 'mend' } });
      expect(other.last?.text).toBe('Rehearsing mend of T-1.');
      const flag = await bench.rehearse({ env, scenario: [{ do: [{ result: 'Flag' }] }] });
      expect(flag.last?.text).toBe('Flag');
    } finally {
      bench.remove();
    }
  });

  it('reports a bad scenario as a config error and does nothing', async () => {
    const bench = makeBench();
    try {
      const scenario = file('bad.yaml', '- do: [sya: Hello]\n');
      const run = await bench.rehearse({ scenario });
      expect(run.code).toBe(2);
      expect(run.last).toMatchObject({ type: 'error', class: 'config' });
      expect(run.last?.message).toContain(`${scenario}, line 1, rule 1, step 1: unknown step "sya"`);
      expect(bench.git('status', '--porcelain')).toBe('');
    } finally {
      bench.remove();
    }
  });
});
