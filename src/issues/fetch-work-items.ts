import { dirname, join, resolve } from 'node:path';
import { defaultHost, ownRepository } from '../github/find-own-repository.ts';
import { GITHUB, githubKey, parseRepository } from '../github/gh/repository-name.ts';
import type { GhOptions } from '../github/gh/run-gh.ts';
import { InputError, messageOf, orError, SignalboxError } from '../model/errors.ts';
import { idProblem } from '../model/ids-and-branch-names.ts';
import { quoted } from '../model/text/clean-escape-quote-plural.ts';
import { fetchGithub } from './github/fetch-issues.ts';
import type { Reference, SpecReference } from './issue-references.ts';
import { issueNumber, parseReference, readIssue, readLinear } from './issue-references.ts';
import { fetchLinear } from './linear/linear-issues.ts';
import { fetchMarkdown } from './markdown-issues.ts';
import type { Fetched, SourceContext, Sourced, SourceProblem, Wait, WorkItem } from './work-item.ts';
import { orProblems, problemOf } from './work-item.ts';

export interface FetchResult {
  /** In the order of the references, each once. */
  items: WorkItem[];
  /** Key of the item that each reference gave, by its text. */
  keys: ReadonlyMap<string, string>;
  /** One for each reference that gave no item. */
  problems: SourceProblem[];
}

/**
 * Fetches what the references name, as few calls to each tracker as it takes. What cannot be had is a problem in the
 * result; the promise rejects only with the reason of an abort.
 */
export async function fetchItems(
  references: readonly (string | Reference)[],
  options: GhOptions,
): Promise<FetchResult> {
  options.signal?.throwIfAborted();
  const { found: parsed, problems } = await orProblems(references, String, (reference) =>
    typeof reference === 'string' ? parseReference(reference, options) : reference,
  );
  const context: SourceContext = { ...options, ownRepository: once(() => ownRepository(options)) };
  const from = <K extends Reference['kind']>(
    kind: K,
    fetchAll: (own: Extract<Reference, { kind: K }>[], context: SourceContext) => Fetched | Promise<Fetched>,
  ) => {
    const own = parsed.filter((each): each is Extract<Reference, { kind: K }> => each.kind === kind);
    return own.length === 0 ? { found: [], problems: [] } : fetchAll(own, context);
  };
  const answers = await Promise.all([
    from('github', fetchGithub),
    from('linear', fetchLinear),
    from('markdown', fetchMarkdown),
    from('spec', refuseSpecs),
  ]);
  options.signal?.throwIfAborted();
  problems.push(...answers.flatMap((answer) => answer.problems));
  const all = answers.flatMap(({ found }) => found);
  const unique = uniqueIds(inOrder(parsed, all));
  const resolved = await resolveWaits(unique.found, context);
  return {
    items: resolved.found.map(({ item }) => item),
    keys: new Map(all.map(({ reference, item }) => [reference.text, item.key])),
    problems: [...problems, ...unique.problems, ...resolved.problems],
  };
}

function refuseSpecs(references: readonly SpecReference[]): Fetched {
  const problems = references.map(({ path, text }) => {
    const message = `${path} is a directory, not an issue.`;
    const hint = `Name its Markdown files: ${join(text, '*.md')}. A spec runs alone, with \`signalbox spec\`.`;
    return problemOf(text, new InputError('source/spec', message, { hint }));
  });
  return { found: [], problems };
}

/** The order of the references; what two of them name counts once. */
function inOrder(references: readonly Reference[], found: readonly Sourced[]): Sourced[] {
  const place = new Map(references.map((reference, index) => [reference, index]));
  const sorted = [...found].sort((a, b) => (place.get(a.reference) ?? 0) - (place.get(b.reference) ?? 0));
  const seen = new Set<string>();
  return sorted.filter(({ item: { key }, reference }) => {
    // Two files with the same id are not the same item; `uniqueIds` refuses them.
    const mark = reference.kind === 'markdown' ? reference.path : key;
    return !seen.has(mark) && seen.add(mark);
  });
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    result ??= work();
    return result;
  };
}

/**
 * Two items of one call never share an id. The owner distinguishes issues of other repositories; of two files with the
 * same name or id the second is refused, since any id made for it would change from call to call.
 */
function uniqueIds(found: readonly Sourced[]): { found: Sourced[]; problems: SourceProblem[] } {
  const taken = new Map<string, Sourced>();
  const problems: SourceProblem[] = [];
  for (const sourced of found) {
    const id = [sourced.item.id, longId(sourced)].find((each) => each !== undefined && !taken.has(each));
    if (id !== undefined) taken.set(id, { ...sourced, item: { ...sourced.item, id } });
    else problems.push(clash(sourced, taken.get(sourced.item.id)));
  }
  return { found: [...taken.values()], problems };
}

function longId({ item: { number, repository, id } }: Sourced): string | undefined {
  const name = parseRepository(repository ?? '');
  if (!name || id === String(number)) return undefined;
  const long = `${name.owner}-${id}`;
  return idProblem(long) === undefined ? long : undefined;
}

function clash({ reference, item }: Sourced, other: Sourced | undefined): SourceProblem {
  const message = `${reference.text} has the id "${item.id}", and so has ${other?.reference.text ?? 'another'}.`;
  const hint = 'Give one of them another `id:` in its front matter, or run them one after the other.';
  return problemOf(reference.text, new InputError('source/same-id', message, { hint }));
}

/** Turns what files wait for into keys: an id of this call first, then a path, then an issue. */
async function resolveWaits(
  found: readonly Sourced[],
  context: SourceContext,
): Promise<{ found: Sourced[]; problems: SourceProblem[] }> {
  const known: Known = new Map(found.map(({ item }) => [item.id, item.key]));
  for (const { reference, item } of found)
    if (reference.kind === 'markdown') known.set(reference.path, item.key);
  return orProblems(
    found,
    ({ reference }) => reference.text,
    (sourced) => withKeys(sourced, known, context),
  );
}

/** Keys by id and by the path of a file: an id has no slash. */
type Known = Map<string, string>;

async function withKeys(sourced: Sourced, known: Known, context: SourceContext): Promise<Sourced> {
  if (!sourced.waits || sourced.waits.length === 0) return sourced;
  const base = sourced.reference.kind === 'markdown' ? dirname(sourced.reference.path) : context.cwd;
  const keys = await Promise.all(sourced.waits.map((wait) => keyOf(wait, base, known, context)));
  const dependsOn = [...new Set([...sourced.item.dependsOn, ...keys])];
  return { ...sourced, item: { ...sourced.item, dependsOn } };
}

async function keyOf(
  { text, place }: Wait,
  base: string,
  known: Known,
  context: SourceContext,
): Promise<string> {
  const id = known.get(text) ?? known.get(text.replace(/^#/, ''));
  if (id !== undefined) return id;
  if (/\.(md|markdown)$/i.test(text)) {
    const path = resolve(base, text);
    return known.get(path) ?? `markdown:${path}`;
  }
  const number = issueNumber(text.replace(/^#/, ''));
  if (number !== undefined) return ownKey(number, place, context);
  const linear = readLinear(text);
  if (linear !== undefined) return `linear:${linear}`;
  const issue = readIssue(text, 0, defaultHost(context));
  if (issue?.mention.repository && issue.end === text.length && !issue.pull) {
    await refuseStrangers(issue.mention.repository.host, place, context);
    return githubKey(issue.mention.repository, issue.mention.number);
  }
  if (idProblem(text) === undefined) return `markdown:${text}`;
  throw new InputError('markdown/depends-on', `${place}: ${quoted(text)} is not something to depend on.`, {
    hint: 'Name the id or path of another file, or an issue such as "#12", owner/repo#12 or ENG-12.',
  });
}

async function ownKey(number: number, place: string, context: SourceContext): Promise<string> {
  const own = await orError(SignalboxError, context.ownRepository);
  if (!(own instanceof SignalboxError)) return githubKey(own, number);
  throw new InputError(
    'markdown/depends-on',
    `${place}: It depends on #${number}, and its repository is not known: ${messageOf(own)}`,
    { hint: `Write owner/repo#${number}, or leave it out.${own.hint ? `\n${own.hint}` : ''}` },
  );
}

/** A file must not be able to make gh send a token to a host of its choice. */
async function refuseStrangers(host: string, place: string, context: SourceContext): Promise<void> {
  if (host === GITHUB || host === defaultHost(context).toLowerCase()) return;
  const own = await orError(SignalboxError, context.ownRepository);
  if (!(own instanceof SignalboxError) && own.host === host) return;
  throw new InputError('markdown/depends-on', `${place}: Issues on ${host} are not fetched from here.`, {
    hint: 'Name issues of github.com or of the host that origin is on; GH_HOST names another.',
  });
}
