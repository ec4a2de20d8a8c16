import { EFFORTS } from '../model/agent-and-adapter-types.ts';
import { OPTIONAL_PHASES } from '../model/issue-phases.ts';
import type { Kind, Row } from './value-kinds.ts';
import {
  boolean,
  choice,
  field,
  list,
  maybe,
  number,
  object,
  record,
  row,
  text,
  whole,
} from './value-kinds.ts';

/** Defaults of issue runs. The key after `run.` is also the option's name. */
export const RUN_ROWS = {
  'run.concurrency': row(
    whole({ min: 1, flag: '--concurrency' }),
    3,
    'Maximum number of issues of one run at once; maxConcurrency limits the machine.',
    { letter: 'c', help: 'maximum number of issues at once' },
  ),
  'run.sequential': row(boolean, false, 'One issue at a time, and none after the first failure.'),
  'run.timeout': row(
    whole({ min: 1, max: 2_000_000, flag: '--timeout', unit: 'seconds' }),
    1800,
    'Seconds one phase may take.',
  ),
  'run.qualityLoop': row(boolean, false, 'Go back to the failed phase with the findings.'),
  'run.maxIterations': row(
    whole({ min: 1, flag: '--max-iterations' }),
    3,
    'Maximum number of rounds of the quality loop.',
  ),
  'run.retry': row(boolean, true, 'Retry what may pass the second time.', { help: 'never retry' }),
  'run.smartTests': row(boolean, true, 'During the work, run only the tests that the changed files touch.', {
    help: 'run all tests every time',
  }),
  'run.testgen': row(boolean, false, 'Write tests from the acceptance criteria before exec.'),
  'run.securityReview': row(boolean, false, 'Review the security of the work before qa.'),
  'run.autoDetectPhases': row(
    boolean,
    true,
    'Let the labels of an issue add phases and the quality loop, by run.rules.',
    { help: 'ignore labels' },
  ),
  'run.rules': row(
    list(
      object({
        labels: {
          ...field(list(text), 'Applies to issues with one of these labels, in upper or lower case.'),
          required: true,
        },
        phases: field(list(choice([...OPTIONAL_PHASES, 'security-review'])), 'Phases to add.'),
        qualityLoop: field(boolean, 'Turn the quality loop on.'),
      }),
    ),
    [
      { labels: ['security', 'auth', 'authentication', 'permissions', 'admin'], phases: ['security_review'] },
      { labels: ['complex', 'refactor', 'breaking', 'major'], qualityLoop: true },
      { labels: ['tests', 'testing'], phases: ['testgen'] },
    ],
    'What labels add to a run.',
    { flag: null },
  ),
  'run.phases': row(
    record(
      'phase',
      object({
        model: field(text, 'Model, as the agent’s CLI spells it.'),
        effort: field(choice(EFFORTS), 'Reasoning effort.'),
      }),
    ),
    {},
    'Model and effort by phase.',
    { flag: null, option: 'phasePolicies' },
  ),
  'run.agent': row(maybe(text), null, 'Agent of issue runs; null is defaultAgent.', {
    letter: 'a',
    help: 'agent of this run',
  }),
  'run.defaultBase': row(
    maybe({ is: 'ref' }),
    null,
    'Branch that work starts from; null is the default branch of the repository.',
    { flag: '--base', option: 'base', help: 'branch that work starts from' },
  ),
  'run.pr': row(boolean, true, 'Push the branch and open a pull request.', { help: 'open no pull request' }),
  'run.integrate': row(
    boolean,
    false,
    'Merge finished work into the base branch locally, or into signalbox/<base> if that branch is checked out.',
  ),
  'run.logJson': row(boolean, true, 'Write a JSON log of every run.', { help: 'write no JSON log' }),
  'run.logPath': row({ is: 'project' }, '.signalbox/logs', 'Directory of these logs.', {
    help: 'directory of the JSON log',
  }),
  'run.rotation.maxSizeMB': row(
    number({ above: 0 }),
    10,
    'The oldest run logs are deleted above this size.',
    { flag: null },
  ),
  'run.rotation.maxFiles': row(whole({ min: 1 }), 100, 'The oldest run logs are deleted above this number.', {
    flag: null,
  }),
} satisfies Record<`run.${string}`, Row>;

export interface RunOnlyRow {
  kind: Kind;
  about: string;
  letter?: string;
  /** What the help calls its value. */
  value?: string;
}

/** Options that only a run has, not the settings, by name. */
export const RUN_ONLY = {
  task: {
    kind: list(text),
    about: 'what is to be done, in your own words; may be given several times; - reads standard input',
    value: 'text',
  },
  phases: { kind: text, about: 'phases to run, separated by commas; the others are skipped' },
  chain: { kind: boolean, about: 'in the order of dependencies, each from the branch of the one before' },
  qaGate: { kind: boolean, about: 'in a chain, wait after each issue until it is approved' },
  batch: { kind: list(text), about: 'a group of issues; groups run in order' },
  models: { kind: text, about: 'model of all phases, or phase=model, separated by commas' },
  efforts: { kind: text, about: 'reasoning effort of all phases, or phase=effort, separated by commas' },
  detach: { kind: boolean, about: 'return at once; a daemon continues the run' },
  dryRun: { kind: boolean, about: 'show what would be done and do nothing' },
  force: { kind: boolean, about: 'run issues again that are done' },
  verbose: { kind: boolean, letter: 'v', about: 'show what agents say and do' },
  quiet: { kind: boolean, letter: 'q', about: 'show results only' },
} satisfies Record<string, RunOnlyRow>;
