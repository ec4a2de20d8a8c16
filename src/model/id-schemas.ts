import { z } from 'zod';
import { BRANCH_PATTERN, branchProblem, ID_PATTERN, idProblem } from './ids.ts';

export const Id = named('id', idProblem, ID_PATTERN);
export const Branch = named('branch', branchProblem, BRANCH_PATTERN);

function named(what: string, problemOf: (text: string) => string | undefined, pattern: string) {
  const text = z.string().superRefine((text, ctx) => {
    const problem = problemOf(text);
    if (problem)
      ctx.addIssue({ code: 'custom', message: `${what} ${JSON.stringify(text.slice(0, 60))} ${problem}` });
  });
  return text.meta({ pattern });
}
