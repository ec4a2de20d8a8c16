import { flagOfOption } from '../../../config/run-flags.ts';
import { InputError } from '../../../model/errors.ts';
import { type IssuePhase, issuePhase } from '../../../model/issue-phases.ts';
import type { RunOptions } from '../request-and-result-types.ts';

interface Rule {
  when(options: RunOptions): boolean;
  says(options: RunOptions): string;
  hint: string;
  /** Not applied to merged options, where one of the two may be only a setting. */
  onlyWithinOneCall?: true;
}

const many = ({ concurrency }: RunOptions) => concurrency !== undefined && concurrency > 1;
const names = ({ phases = '' }: RunOptions, phase: IssuePhase) =>
  String(phases)
    .split(',')
    .some((name) => issuePhase(name) === phase);

/** The rule for an option that has no effect without one of these phases. */
function needs(
  option: 'integrate' | 'pr' | 'qualityLoop' | 'securityReview' | 'testgen',
  about: { phases: readonly IssuePhase[]; why: string },
): Rule {
  const flag = flagOfOption(option);
  return {
    when: (options) =>
      options[option] === true &&
      options.phases !== undefined &&
      !about.phases.some((phase) => names(options, phase)),
    says: ({ phases }) => `${flag} cannot be used with --phases ${phases}: ${about.why}.`,
    hint: `Leave ${flag} out, or name ${about.phases.join(' or ')} in --phases.`,
    onlyWithinOneCall: true,
  };
}

const RULES: readonly Rule[] = [
  {
    when: ({ chain, batch }) => chain === true && (batch?.length ?? 0) > 0,
    says: () => '--chain cannot be used with --batch: a chain is one line of issues, batches are groups.',
    hint: 'Leave one of them out.',
  },
  {
    when: (options) => options.chain === true && many(options),
    says: ({ concurrency }) =>
      `--chain cannot be used with --concurrency ${concurrency}: each issue starts from the one before it.`,
    hint: 'Leave one of them out.',
    onlyWithinOneCall: true,
  },
  {
    when: ({ chain, sequential }) => chain === true && sequential === false,
    says: () => '--chain cannot be used with --no-sequential: each issue starts from the one before it.',
    hint: 'Leave one of them out.',
    onlyWithinOneCall: true,
  },
  {
    when: (options) => options.sequential === true && many(options),
    says: ({ concurrency }) =>
      `--sequential cannot be used with --concurrency ${concurrency}: it runs one issue at a time.`,
    hint: 'Leave one of them out. To run one at a time and continue after a failure: --concurrency 1',
    onlyWithinOneCall: true,
  },
  {
    when: ({ qaGate, chain }) => qaGate === true && chain !== true,
    says: () => '--qa-gate needs --chain: it holds back the next link of a chain.',
    hint: 'Add --chain, or leave --qa-gate out.',
  },
  {
    when: ({ quiet, verbose }) => quiet === true && verbose === true,
    says: () => '--quiet cannot be used with --verbose.',
    hint: 'Leave one of them out.',
  },
  {
    when: ({ detach, dryRun }) => detach === true && dryRun === true,
    says: () => '--detach cannot be used with --dry-run, which runs nothing.',
    hint: 'Leave one of them out.',
  },
  {
    when: ({ detach, verbose }) => detach === true && verbose === true,
    says: () => '--detach cannot be used with --verbose: a run in the background prints nothing here.',
    hint: 'Leave one of them out; see what agents say with: signalbox logs <run> <issue> --follow',
  },
  {
    when: (options) => options.testgen === false && names(options, 'testgen'),
    says: () => '--no-testgen cannot be used with --phases that name testgen.',
    hint: 'Leave one of them out.',
    onlyWithinOneCall: true,
  },
  {
    when: (options) => options.securityReview === false && names(options, 'security_review'),
    says: () => '--no-security-review cannot be used with --phases that name security_review.',
    hint: 'Leave one of them out.',
    onlyWithinOneCall: true,
  },
  needs('testgen', { phases: ['exec', 'testgen'], why: 'tests are generated for exec' }),
  needs('securityReview', { phases: ['exec', 'security_review'], why: 'it reviews what exec has done' }),
  needs('qualityLoop', { phases: ['exec'], why: 'the loop goes back to exec' }),
  needs('pr', { phases: ['exec'], why: 'a pull request is opened for what exec has done' }),
  needs('integrate', { phases: ['exec', 'qa'], why: 'only work that was done or judged is merged' }),
];

/** Refuses options that contradict each other: those of one caller, before settings are added to them. */
export function checkCombination(options: RunOptions): void {
  refuse(RULES, options);
}

/** The same for merged options, where a value may be no more than a setting. */
export function checkMerged(options: RunOptions): void {
  refuse(
    RULES.filter((rule) => !rule.onlyWithinOneCall),
    options,
  );
}

function refuse(rules: readonly Rule[], options: RunOptions): void {
  const broken = rules.find((rule) => rule.when(options));
  if (broken) throw new InputError('run/combination', broken.says(options), { hint: broken.hint });
}

/** Forms of a reference. Whether the issue or file exists is checked when it is read. */
const FORMS = [
  /^#?[1-9]\d*$/,
  /^[\w.-]+\/[\w.-]+#[1-9]\d*$/,
  /^https?:\/\/\S+$/,
  /^[A-Z][A-Z0-9]*-[1-9]\d*$/,
  /\.(md|markdown)$/i,
];

/** `['123,456', '789']` → `[['123', '456'], ['789']]`; spaces separate too. */
export function parseBatches(batch: readonly string[]): string[][] {
  const seen = new Set<string>();
  return batch.map((text) => {
    const names = String(text)
      .split(/[\s,]+/)
      .filter((name) => name !== '');
    if (names.length === 0) throw namesNothing(text);
    for (const name of names) {
      if (!FORMS.some((form) => form.test(name)))
        throw bad(`--batch ${JSON.stringify(text)}: ${JSON.stringify(name)} is not an issue reference.`);
      const key = name.replace(/^#/, '');
      if (seen.has(key)) throw bad(`--batch ${JSON.stringify(text)}: ${name} is there twice.`);
      seen.add(key);
    }
    return names;
  });
}

export function namesNothing(text: string): InputError {
  return bad(`--batch ${JSON.stringify(text)} names no issue.`);
}

function bad(message: string): InputError {
  return new InputError('run/batch', message, {
    hint: 'Separate issues by commas or spaces and repeat the flag for each group: --batch "123,456" --batch 789',
  });
}
