import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TABLE } from '../../../../src/config/settings-table.ts';
import {
  applyRules,
  type LabelRule,
  rulesWithout,
} from '../../../../src/features/issue-runs/options/phases-models-and-label-rules.ts';
import { DEFAULT_PHASES, ISSUE_PHASES, OPTIONAL_PHASES } from '../../../../src/model/issue-phases.ts';

const rules = structuredClone(TABLE['run.rules'].default) as unknown as LabelRule[];
const base = { phases: DEFAULT_PHASES, qualityLoop: false, autoDetectPhases: true, rules };

describe('label rules', () => {
  it.each([
    [[], ['spec', 'exec', 'qa'], false],
    [['bug', 'docs'], ['spec', 'exec', 'qa'], false],
    [['Security'], ['spec', 'exec', 'security_review', 'qa'], false],
    [['ADMIN', 'testing'], ['spec', 'testgen', 'exec', 'security_review', 'qa'], false],
    [['refactor'], ['spec', 'exec', 'qa'], true],
    [['tests', 'breaking'], ['spec', 'testgen', 'exec', 'qa'], true],
    [['security-ish', 'pre-auth'], ['spec', 'exec', 'qa'], false],
  ])('an issue with %j', (labels, phases, qualityLoop) => {
    expect(applyRules(base, labels)).toEqual({ phases, qualityLoop });
  });

  it('change nothing when they are off', () => {
    const labels = rules.flatMap((rule) => rule.labels);
    expect(applyRules({ ...base, autoDetectPhases: false }, labels)).toEqual({
      phases: [...DEFAULT_PHASES],
      qualityLoop: false,
    });
  });

  it('are the user’s to change', () => {
    const own = [{ labels: ['payments'], phases: ['security-review'], qualityLoop: true }] as LabelRule[];
    expect(applyRules({ ...base, rules: own }, ['payments', 'auth'])).toEqual({
      phases: ['spec', 'exec', 'security_review', 'qa'],
      qualityLoop: true,
    });
  });

  const rule = fc.record({
    labels: fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1 }),
    phases: fc.option(fc.subarray([...OPTIONAL_PHASES]), { nil: undefined }),
    qualityLoop: fc.option(fc.boolean(), { nil: undefined }),
  });

  it('only ever add, and keep the order of the workflow', () => {
    fc.assert(
      fc.property(fc.array(rule), fc.subarray(['a', 'b', 'c']), fc.boolean(), (some, labels, loop) => {
        const { phases, qualityLoop } = applyRules({ ...base, rules: some, qualityLoop: loop }, labels);
        expect(phases).toEqual(expect.arrayContaining([...DEFAULT_PHASES]));
        expect(phases).toEqual(ISSUE_PHASES.filter((phase) => phases.includes(phase)));
        if (loop) expect(qualityLoop).toBe(true);
      }),
    );
  });

  it('add nothing that somebody has said no to', () => {
    fc.assert(
      fc.property(
        fc.array(rule),
        fc.subarray(['a', 'b', 'c']),
        fc.subarray([...OPTIONAL_PHASES]),
        fc.boolean(),
        (some, labels, no, noLoop) => {
          const left = rulesWithout(some, { phases: no, qualityLoop: noLoop });
          const all = applyRules({ ...base, rules: some }, labels);
          const allowed = applyRules({ ...base, rules: left }, labels);
          expect(allowed.phases).toEqual(all.phases.filter((phase) => !no.some((name) => name === phase)));
          expect(allowed.qualityLoop).toBe(all.qualityLoop && !noLoop);
        },
      ),
    );
  });
});
