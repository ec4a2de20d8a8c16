import { EFFORTS } from '../model/efforts.ts';
import { OPTIONAL_PHASES } from '../model/issue-phases.ts';
import type { Kind, Row } from './kinds.ts';

const flag = { is: 'boolean' } as const;
const text = { is: 'text' } as const;

/** Defaults of issue runs. The key after `run.` is also the option's name. */
export const RUN_ROWS = {
  'run.concurrency': {
    kind: { is: 'whole', min: 1, flag: '--concurrency' },
    default: 3,
    letter: 'c',
    help: 'most issues at once',
    about: 'Most issues of one run at once; maxConcurrency caps the machine.',
  },
  'run.sequential': {
    kind: flag,
    default: false,
    about: 'One issue at a time, and none after the first failure.',
  },
  'run.timeout': {
    kind: { is: 'whole', min: 1, max: 2_000_000, flag: '--timeout', unit: 'seconds' },
    default: 1800,
    about: 'Seconds one phase may take.',
  },
  'run.qualityLoop': { kind: flag, default: false, about: 'Go back to the failed phase with the findings.' },
  'run.maxIterations': {
    kind: { is: 'whole', min: 1, flag: '--max-iterations' },
    default: 3,
    about: 'Most rounds of the quality loop.',
  },
  'run.retry': {
    kind: flag,
    default: true,
    help: 'one attempt of everything',
    about: 'Repeat what may pass the second time; without it everything has one attempt.',
  },
  'run.smartTests': {
    kind: flag,
    default: true,
    help: 'run all tests every time',
    about: 'While work goes on, run only the tests that the changed files touch.',
  },
  'run.testgen': {
    kind: flag,
    default: false,
    about: 'Write tests from the acceptance criteria before exec.',
  },
  'run.securityReview': { kind: flag, default: false, about: 'Review the security of the work before qa.' },
  'run.autoDetectPhases': {
    kind: flag,
    default: true,
    help: 'let labels add nothing',
    about: 'Let the labels of an issue add phases and the quality loop, by run.rules.',
  },
  'run.rules': {
    kind: {
      is: 'list',
      of: {
        is: 'object',
        fields: {
          labels: {
            kind: { is: 'list', of: text },
            required: true,
            about: 'An issue with one of these, in any case, is meant.',
          },
          phases: {
            kind: { is: 'list', of: { is: 'choice', of: [...OPTIONAL_PHASES, 'security-review'] } },
            about: 'Phases to add.',
          },
          qualityLoop: { kind: flag, about: 'Turn the quality loop on.' },
        },
      },
    },
    default: [
      {
        labels: ['security', 'auth', 'authentication', 'permissions', 'admin'],
        phases: ['security_review'],
      },
      { labels: ['complex', 'refactor', 'breaking', 'major'], qualityLoop: true },
      { labels: ['tests', 'testing'], phases: ['testgen'] },
    ],
    flag: null,
    about: 'What labels add to a run.',
    example: 'run:\n  rules:\n    - labels: [payments]\n      phases: [testgen, security_review]',
  },
  'run.phases': {
    kind: {
      is: 'record',
      keys: 'phase',
      of: {
        is: 'object',
        fields: {
          model: { kind: text, about: 'Model, as the agent’s CLI spells it.' },
          effort: { kind: { is: 'choice', of: EFFORTS }, about: 'Reasoning effort.' },
        },
      },
    },
    default: {},
    flag: null,
    option: 'phasePolicies',
    about: 'Model and effort by phase.',
    example: 'run:\n  phases:\n    spec: {model: opus, effort: high}',
  },
  'run.agent': {
    kind: { is: 'maybe', of: text },
    default: null,
    letter: 'a',
    help: 'agent of this run',
    about: 'Agent of issue runs; null is defaultAgent.',
  },
  'run.defaultBase': {
    kind: { is: 'maybe', of: { is: 'ref' } },
    default: null,
    flag: '--base',
    option: 'base',
    help: 'branch that work starts from',
    about: 'Branch that work starts from; null is the default branch of the repository.',
  },
  'run.pr': {
    kind: flag,
    default: true,
    help: 'open no pull request',
    about: 'Push the branch and open a pull request.',
  },
  'run.integrate': {
    kind: flag,
    default: false,
    about:
      'Merge finished work into the base branch locally, or into signalbox/<base> where that is checked out.',
  },
  'run.logJson': {
    kind: flag,
    default: true,
    help: 'write no JSON log',
    about: 'Write a JSON log of every run.',
  },
  'run.logPath': {
    kind: { is: 'project' },
    default: '.signalbox/logs',
    help: 'directory of the JSON log',
    about: 'Directory of these logs.',
  },
  'run.rotation.maxSizeMB': {
    kind: { is: 'number', above: 0 },
    default: 10,
    flag: null,
    about: 'The oldest run logs are deleted above this size.',
  },
  'run.rotation.maxFiles': {
    kind: { is: 'whole', min: 1 },
    default: 100,
    flag: null,
    about: 'The oldest run logs are deleted above this number.',
  },
} as const satisfies Record<`run.${string}`, Row>;

export interface RunOnlyRow {
  kind: Kind;
  about: string;
  letter?: string;
}

/** Options that only a run has, not the settings, by name. */
export const RUN_ONLY = {
  phases: { kind: text, about: 'phases to run, by commas; the others are skipped' },
  chain: { kind: flag, about: 'in the order of dependencies, each from the branch of the one before' },
  qaGate: { kind: flag, about: 'in a chain, wait after each issue until somebody has approved it' },
  batch: { kind: { is: 'list', of: text }, about: 'a group of issues; groups run in order' },
  models: { kind: text, about: 'model of all phases, or phase=model by commas' },
  efforts: { kind: text, about: 'reasoning effort of all phases, or phase=effort by commas' },
  detach: { kind: flag, about: 'give the terminal back; a daemon goes on' },
  dryRun: { kind: flag, about: 'say what would be done and do nothing' },
  force: { kind: flag, about: 'run issues again that are done' },
  verbose: { kind: flag, letter: 'v', about: 'show what agents say and do' },
  quiet: { kind: flag, letter: 'q', about: 'show results only' },
} as const satisfies Record<string, RunOnlyRow>;
