import { z } from 'zod';
import { branchProblem, idProblem } from './ids.ts';

export const Id = z.string().superRefine((text, ctx) => {
  const problem = idProblem(text);
  if (problem)
    ctx.addIssue({ code: 'custom', message: `id ${JSON.stringify(text.slice(0, 60))} ${problem}` });
});

export const Branch = z.string().superRefine((text, ctx) => {
  const problem = branchProblem(text);
  if (problem)
    ctx.addIssue({ code: 'custom', message: `branch ${JSON.stringify(text.slice(0, 60))} ${problem}` });
});
