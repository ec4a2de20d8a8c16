import type { Command } from 'commander';
import type { Stale } from '../engine/clean.ts';
import type { Style } from '../report/style.ts';
import { type Io, outJson } from './io.ts';
import { type GlobalOptions, openEngine, openRunner } from './open.ts';

interface Options extends GlobalOptions {
  yes?: boolean;
}

export function register(program: Command, io: Io): void {
  program
    .command('clean')
    .description('list worktrees, branches and logs that nobody needs any more, and remove what is safe')
    .option('-y, --yes', 'remove what loses nothing; everything else is kept')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nLooks at the repositories of all plans and at the one you are in. Work that exists only there is never removed.\n\nExamples:\n  $ signalbox clean\n  $ signalbox clean --yes',
    )
    .action(async (_options: unknown, command: Command) => run(command.optsWithGlobals<Options>(), io));
}

async function run(options: Options, io: Io): Promise<void> {
  const remove = options.yes === true;
  const parts = await (remove ? openRunner : openEngine)(io, options, 'clean');
  const [{ clean }, { style }] = await Promise.all([
    import('../engine/clean.ts'),
    import('../report/style.ts'),
  ]);
  const { items, notes } = await clean(parts, { cwd: io.cwd, remove });
  if (options.json) return outJson(io, { items, notes });
  for (const note of notes) io.err(`! ${note}`);
  const look = style(io.color);
  for (const item of items) io.out(line(item, look));
  io.out(conclusion(items, remove));
}

function line(item: Stale, look: Style): string {
  const mark = item.keep === null ? look.green('✓') : look.yellow('!');
  const did = item.removed ? 'removed ' : item.keep === null ? '' : 'kept ';
  const about =
    item.keep === null ? `${item.why}; ${loss(item)}` : `${item.why}, but ${item.keep}; ${loss(item)}`;
  return `${mark} ${did}${item.kind} ${look.bold(item.name)}: ${about}`;
}

function loss({ loses, bytes, removed }: Stale): string {
  const files = loses.files > 0 ? [count(loses.files, 'uncommitted file')] : [];
  const commits = loses.commits > 0 ? [count(loses.commits, 'commit')] : [];
  const lost = [...files, ...commits];
  if (lost.length > 0) return `deleting it would lose ${lost.join(' and ')}`;
  if (bytes !== null) return `${removed ? 'freed' : 'deleting it frees'} ${megabytes(bytes)}`;
  return removed ? 'nothing was lost' : 'deleting it loses nothing';
}

function conclusion(items: readonly Stale[], remove: boolean): string {
  const kept = items.filter(({ keep }) => keep !== null).length;
  const safe = items.length - kept;
  if (items.length === 0) return 'There is nothing to clean up.';
  if (remove) return `${safe} removed, ${kept} kept.`;
  const next = safe > 0 ? ' Remove them: signalbox clean --yes' : '';
  return `${safe} can be removed, ${kept} will be kept.${next}`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

function megabytes(bytes: number): string {
  return bytes < 100_000 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
