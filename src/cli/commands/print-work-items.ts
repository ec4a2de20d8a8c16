import type { Listed } from '../../issues/work-item.ts';
import { InputError } from '../../model/errors.ts';
import { shellWord } from '../../model/text/quote-values-for-shell.ts';
import { positiveInteger } from '../check-option-values.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { errorLines, type Io, outJson, saySoon } from '../io.ts';
import { openSettings } from '../open-settings-store-and-engine.ts';

type Options = OptionsOf<'import'>;

const LISTS = ['github', 'linear'];

export async function importItems(io: Io, options: Options, sources: string[]): Promise<void> {
  const said = saySoon(io, options, 'Reading the issues…');
  const found = await read(sources, options, io).finally(said);
  const none = { milestone: null, parent: null, subIssues: [], paths: [], blocked: null };
  outJson(io, { ...found, items: found.items.map((item) => ({ ...none, ...item })) });
  if (found.problems.length > 0) io.exit(1);
  if (options.json) return;
  for (const { message, hint } of found.problems) io.err(errorLines(message, hint));
  if (found.more) io.err(`There are more than ${found.items.length}. Ask for them with --limit.`);
}

async function read(sources: string[], options: Options, io: Io): Promise<Listed> {
  const list = sources.length === 1 && LISTS.includes(sources[0] ?? '') ? sources[0] : undefined;
  refuseOtherSources(sources);
  const limit = positiveInteger('--limit', options.limit) ?? 100;
  refuseMisplaced(list, options);
  const { ghCommand } = await openSettings(io, options);
  const fetching = { cwd: io.cwd, env: io.env, gh: ghCommand };
  if (list === undefined) {
    const { collectWork } = await import('../../issues/collect-issues-and-spec-units.ts');
    const { unit } = options;
    const { items, problems } = await collectWork(sources, { ...fetching, ...(unit ? { unit } : {}) });
    return { items, problems, more: false };
  }
  const { state = 'open', label: labels = [], milestone, repo, team } = options;
  const filter = { state, labels, limit, ...(milestone === undefined ? {} : { milestone }) };
  if (list === 'github') {
    const { listGithub } = await import('../../issues/github/list-issues.ts');
    return listGithub({ ...fetching, filter, ...(repo === undefined ? {} : { repository: repo }) });
  }
  if (team === undefined)
    throw new InputError('usage', '`import linear` needs a team.', { hint: 'For example: --team ENG' });
  const { listLinear } = await import('../../issues/linear/linear-issues.ts');
  return listLinear({ ...fetching, filter, team });
}

/** `github` asks for a list, so it must be the only argument. */
function refuseOtherSources(sources: readonly string[]): void {
  const word = sources.length > 1 ? sources.find((source) => LISTS.includes(source)) : undefined;
  if (word === undefined) return;
  const others = sources
    .filter((source) => source !== word)
    .map(shellWord)
    .join(' ');
  throw new InputError('usage', `\`${word}\` lists issues, so it must be the only argument.`, {
    hint: [
      others === '' ? '' : `For these alone: signalbox import ${others}\n`,
      `For a list: signalbox import ${word} ${word === 'linear' ? '--team ENG' : '--label bug'}\n`,
      `A directory of that name is written ./${word}`,
    ].join(''),
  });
}

/** Refuses a flag that would have no effect. */
function refuseMisplaced(list: string | undefined, options: Options): void {
  const of: Record<string, (keyof Options)[]> = {
    github: ['unit', 'team'],
    linear: ['unit', 'repo'],
    references: ['repo', 'team', 'milestone', 'label', 'state', 'limit'],
  };
  const [wrong] = (of[list ?? 'references'] ?? []).filter((name) => options[name] !== undefined);
  if (wrong)
    throw new InputError('usage', `--${wrong} does not apply to ${list ?? 'single issues and files'}.`, {
      hint: list
        ? 'signalbox import --help'
        : 'To list issues: signalbox import github, or signalbox import linear',
    });
}
