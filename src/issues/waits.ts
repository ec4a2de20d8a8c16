import { dirname, resolve } from 'node:path';
import { GITHUB, githubKey } from '../github/gh/repository-name.ts';
import { InputError, messageOf, SignalboxError } from '../model/errors.ts';
import { idProblem } from '../model/ids.ts';
import { quoted } from '../model/text/clean.ts';
import {
  orError,
  orProblems,
  type SourceContext,
  type Sourced,
  type SourceProblem,
  type Wait,
} from './item.ts';
import { issueNumber, readIssue, readLinear } from './reference.ts';
import { defaultHost } from './repository.ts';

/** Turns what files wait for into keys: an id of this call first, then a path, then an issue. */
export async function resolveWaits(
  found: readonly Sourced[],
  context: SourceContext,
): Promise<{ found: Sourced[]; problems: SourceProblem[] }> {
  const known: Known = {
    ids: new Map(found.map(({ item }) => [item.id, item.key])),
    paths: new Map(
      found.flatMap(({ reference, item }) =>
        reference.kind === 'markdown' ? [[reference.path, item.key] as const] : [],
      ),
    ),
  };
  return orProblems(
    found,
    ({ reference }) => reference.text,
    (sourced) => withKeys(sourced, known, context),
  );
}

interface Known {
  ids: ReadonlyMap<string, string>;
  paths: ReadonlyMap<string, string>;
}

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
  const id = known.ids.get(text) ?? known.ids.get(text.replace(/^#/, ''));
  if (id !== undefined) return id;
  if (/\.(md|markdown)$/i.test(text)) {
    const path = resolve(base, text);
    return known.paths.get(path) ?? `markdown:${path}`;
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
  const own = await orError(context.ownRepository);
  if (!(own instanceof SignalboxError)) return githubKey(own, number);
  throw new InputError(
    'markdown/depends-on',
    `${place}: It depends on #${number}, and nobody can tell in which repository that is: ${messageOf(own)}`,
    { hint: `Write owner/repo#${number}, or leave it out.${own.hint ? `\n${own.hint}` : ''}` },
  );
}

/** A file must not be able to make gh send a token to a host of its choice. */
async function refuseStrangers(host: string, place: string, context: SourceContext): Promise<void> {
  if (host === GITHUB || host === defaultHost(context).toLowerCase()) return;
  const own = await orError(context.ownRepository);
  if (!(own instanceof SignalboxError) && own.host === host) return;
  throw new InputError('markdown/depends-on', `${place}: Issues on ${host} are not looked up from here.`, {
    hint: 'Name issues of github.com or of the host that origin is on; GH_HOST names another.',
  });
}
