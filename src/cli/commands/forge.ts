import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type ForgeStep, forgeStep, waitingOut } from '../../features/pull-requests/actions.ts';
import { commentOnPull } from '../../features/pull-requests/answer-review.ts';
import { BudgetBook } from '../../github/rate-limit.ts';
import { Machine } from '../../machine/machine.ts';
import { type ActionInputs, EXIT } from '../../model/actions.ts';
import { InputError } from '../../model/errors.ts';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openEngine, openSettings } from '../open-state-and-check-flags.ts';
import { inPhase, outStep, ticketHere } from './workspace-checks-integrate-diff.ts';

type Options = GlobalOptions & ActionInputs & { key?: string; bodyFile?: string };

/** What workflows do on GitHub, as a command that can be repeated after a crash. */
export function githubCommand(step: ForgeStep | 'comment') {
  return async (io: Io, options: Options, plan?: string, ticket?: string): Promise<void> => {
    const ref = ticketHere(io, plan, ticket);
    const engine = await openEngine(io, options, 'forge');
    const call = { engine, ref, inputs: options, inPhase: inPhase(io) };
    if (step !== 'comment') return outStep(io, options, await forgeStep(step, call));
    const { key = '', bodyFile = '' } = options;
    const end = await waitingOut(call, async () => {
      const data = await commentOnPull(engine, ref, { key, text: textOf(bodyFile, io) });
      return { exit: EXIT.done, out: data.url, data };
    });
    outStep(io, options, end);
  };
}

function textOf(file: string, { cwd }: Io): string {
  try {
    return readFileSync(resolve(cwd, file), 'utf8');
  } catch (error) {
    throw new InputError('forge/body', `${file} cannot be read: ${(error as Error).message}`);
  }
}

export async function forgeBudget(io: Io, options: GlobalOptions): Promise<void> {
  const { stateDir } = await openSettings(io, options);
  const known = new BudgetBook(new Machine(stateDir).githubCache).all();
  if (options.json) return outJson(io, known);
  if (known.length === 0) return io.out('GitHub has not been asked yet.');
  for (const { host, remaining, limit, cost, resetAt, at } of known)
    io.out(
      `${host}: ${remaining} of ${limit} points left until ${resetAt}; the last question cost ${cost} (${at})`,
    );
}
