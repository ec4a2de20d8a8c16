import { clean as cleanUp, type Stale } from '../../features/cleanup/remove-leftovers.ts';
import { plural } from '../../model/text/clean-quote-plural.ts';
import { oneLine, type Style, style } from '../../report/style-and-phrases.ts';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openEngine, openRunner } from '../open-state-and-find-named-tickets.ts';

/** Maximum number of ignored files to name; there may be thousands. */
const MAX_NAMED_FILES = 5;

interface Options extends GlobalOptions {
  yes?: boolean;
  all?: boolean;
}

export async function clean(io: Io, options: Options): Promise<void> {
  const remove = options.yes === true;
  const parts = await (remove ? openRunner : openEngine)(io, options, 'clean');
  const { all = false } = options;
  const { items, notes, others } = await cleanUp(parts, { cwd: io.cwd, remove, all });
  if (options.json) return outJson(io, { items, notes, others });
  for (const note of notes) io.err(`! ${note}`);
  const colors = style(io.color);
  const named = (files: readonly string[]) => firstOf(files.map((file) => oneLine(file, 80)));
  for (const [repo, group] of byRepository(items)) {
    if (repo !== null) io.out(`${colors.dim('In')} ${repo}`);
    for (const item of group) io.out(line(item, colors, named));
  }
  io.out(conclusion(items, remove, all ? ' --all' : ''));
  if (others.length > 0)
    io.out(
      `${plural(others.length, 'other repository', 'other repositories')} not checked: signalbox clean --all`,
    );
}

/** Things of no repository come last. */
function byRepository(items: readonly Stale[]): Map<string | null, Stale[]> {
  const groups = new Map<string | null, Stale[]>();
  for (const item of items.toSorted((a, b) => Number(a.repo === null) - Number(b.repo === null)))
    groups.set(item.repo, [...(groups.get(item.repo) ?? []), item]);
  return groups;
}

type Named = (files: readonly string[]) => string;

function line(item: Stale, colors: Style, named: Named): string {
  const mark = item.keep === null ? colors.green('✓') : colors.yellow('!');
  const did = item.removed ? 'removed ' : item.keep === null ? '' : 'kept ';
  const lost = loss(item, named);
  // For things that are kept, only a known loss is shown: the absence of one was not checked.
  const known = item.keep === null || item.loses.files + item.loses.commits > 0;
  const about = [
    item.keep === null ? item.why : `${item.why}, but ${item.keep}`,
    ...(known ? [lost] : []),
  ].join('; ');
  return `${mark} ${did}${item.kind} ${colors.bold(item.name)}: ${about}`;
}

function loss({ loses, bytes, ignored, removed }: Stale, named: Named): string {
  const files = loses.files > 0 ? [plural(loses.files, 'uncommitted file')] : [];
  const commits = loses.commits > 0 ? [plural(loses.commits, 'commit')] : [];
  const lost = [...files, ...commits];
  if (lost.length > 0) return `deleting it would lose ${lost.join(' and ')}`;
  if (bytes !== null) return `${removed ? 'freed' : 'deleting it frees'} ${megabytes(bytes)}`;
  const nothing = removed ? 'nothing was lost' : 'deleting it loses nothing';
  return ignored.length > 0 ? `${nothing} but ignored files: ${named(ignored)}` : nothing;
}

function firstOf(files: readonly string[]): string {
  const shown = files.slice(0, MAX_NAMED_FILES);
  const more = files.length - shown.length;
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
}

function conclusion(items: readonly Stale[], remove: boolean, flags: string): string {
  const kept = items.filter(({ keep }) => keep !== null).length;
  const safe = items.length - kept;
  if (items.length === 0) return 'There is nothing to clean up.';
  if (remove) return `${safe} removed, ${kept} kept.`;
  const next = safe > 0 ? ` Remove them: signalbox clean${flags} --yes` : '';
  return `${safe} can be removed, ${kept} will be kept.${next}`;
}

function megabytes(bytes: number): string {
  return bytes < 100_000 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
