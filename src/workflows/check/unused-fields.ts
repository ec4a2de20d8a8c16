import type { Finding } from '../../config/file-problem.ts';
import type { Path } from '../../config/yaml-source.ts';
import { type Phase, type PhaseOf, type RetryRule, retryOf } from '../../model/workflow.ts';

/** Fields that have the right form and would do nothing where they stand. */
export function checkIdle(phase: Exclude<Phase, PhaseOf<'terminal'>>, at: Path): Finding[] {
  return [
    ...checkNames(phase, at),
    ...('prompt' in phase ? checkBlank(phase.prompt, at) : []),
    ...('retry' in phase && phase.retry ? checkRetry(retryOf(phase), [...at, 'retry']) : []),
    ...(phase.type === 'agent' ? checkAgent(phase, at) : []),
  ];
}

/** What a person says or a script prints has no white space around it, and is never nothing. */
function checkNames(phase: Exclude<Phase, PhaseOf<'terminal'>>, at: Path): Finding[] {
  if (phase.type !== 'gate' && phase.type !== 'poll') return [];
  const what = phase.type === 'gate' ? 'decision' : 'outcome';
  return Object.keys(phase.on ?? {})
    .filter((name) => name === '' || name !== name.trim() || name.includes('\n'))
    .map((name) => ({
      path: [...at, 'on', name],
      on: 'key',
      message: `${JSON.stringify(name)} can be no ${what}.`,
      hint: `Give the ${what} a name without white space around it.`,
    }));
}

function checkBlank(prompt: string | undefined, at: Path): Finding[] {
  if (prompt === undefined || prompt.trim() !== '') return [];
  return [{ path: [...at, 'prompt'], message: 'The prompt is empty.', hint: 'Write what is asked for.' }];
}

function checkRetry({ max, delaySeconds }: RetryRule, path: Path): Finding[] {
  if (max > 0 || delaySeconds === 0) return [];
  const message = '"delaySeconds" does nothing with "max: 0": nothing is repeated.';
  return [{ path: [...path, 'delaySeconds'], on: 'key', message }];
}

function checkAgent({ expect, output, repair }: PhaseOf<'agent'>, at: Path): Finding[] {
  const findings: Finding[] = [];
  if (expect && Object.keys(expect).length === 0)
    findings.push({
      path: [...at, 'expect'],
      message: '"expect" names nothing to look for.',
      hint: 'For example "expect: {commits: true, clean: true}"; or delete it.',
    });
  if (expect?.own && expect.commits === undefined)
    findings.push({
      path: [...at, 'expect', 'own'],
      on: 'key',
      message: '"own" says which commits count and needs "commits".',
      hint: 'Write "expect: {commits: true, own: true}".',
    });
  if (repair !== undefined && !output)
    findings.push({
      path: [...at, 'repair'],
      on: 'key',
      message: '"repair" needs "output": without it there is no result to put right.',
    });
  return findings;
}
