import { createHash } from 'node:crypto';
import { slug } from '../model/ids.ts';
import { type Draft, newDraft, type Section, wordsOf } from './drafts.ts';
import { readTitle } from './task-line.ts';

/** The ids of drafts, and the first draft of each id that the file gives. */
interface Ids {
  of: Map<Draft, string>;
  given: Map<string, Draft>;
}

/** Takes the ids that the file gives: `1.` inside task 2 is 2.1; a bare number there is the first word of a title. */
export function givenIds(drafts: readonly Draft[]): Ids {
  const ids: Ids = { of: new Map(), given: new Map() };
  const counting = new Set<Draft>();
  const ambiguous = repeatedMarkers(drafts);
  for (const draft of drafts) {
    const { id, bare } = draft.given;
    if (id === null || (ambiguous && draft.marker && !draft.inside)) continue;
    const outer = draft.inside ? ids.of.get(draft.inside) : undefined;
    let settled: string = id;
    if (draft.inside && outer !== undefined && /^\d+$/.test(id)) {
      const next = /^\d+$/.test(outer) && Number(id) === Number(outer) + 1 && !counting.has(draft.inside);
      if (bare && !next) continue;
      if (!next) {
        settled = `${outer}.${id}`;
        counting.add(draft.inside);
      }
    }
    ids.of.set(draft, settled);
    if (!ids.given.has(settled)) ids.given.set(settled, draft);
  }
  return ids;
}

/** Lists that each begin at `1. [ ]` number their items and not the tasks. */
function repeatedMarkers(drafts: readonly Draft[]): boolean {
  const roots = drafts.filter((draft) => !draft.inside && draft.given.id !== null);
  return (
    roots.some((draft) => draft.marker) && new Set(roots.map((draft) => draft.given.id)).size < roots.length
  );
}

/** Adds headings that are parents: `## 1. Setup` above 1.1, or above tasks without a number. */
export function withHeadings(drafts: readonly Draft[], ids: Ids): Draft[] {
  const all = [...drafts];
  for (const draft of all) {
    const id = ids.of.get(draft);
    if (id !== undefined ? byPrefix(id, ids) : draft.inside) continue;
    const section = headingAbove(draft, id);
    if (!section?.number || ids.given.has(section.number) || section.draft) continue;
    const given = readTitle(wordsOf(section.title));
    const heading = newDraft({ kind: 'section', given, rest: section.title, line: section.line, section });
    section.draft = heading;
    ids.of.set(heading, section.number);
    ids.given.set(section.number, heading);
    all.push(heading);
  }
  return all;
}

/** The heading that could be the parent of a task that has none. */
function headingAbove(draft: Draft, id: string | undefined): Section | null {
  const first = draft.kind !== 'item' ? (draft.section?.parent ?? null) : draft.section;
  if (id === undefined) return first;
  for (let section = first; section; section = section.parent)
    if (section.number !== null && id.startsWith(`${section.number}.`)) return section;
  return null;
}

/** The task that contains a draft: by its id, else by indentation, else by the heading above. */
export function outerDraft(draft: Draft, ids: Ids): Draft | null {
  const id = ids.of.get(draft);
  const named = id === undefined ? null : byPrefix(id, ids);
  if (named) return named === draft ? null : named;
  if (draft.inside && id !== undefined && /^\d+$/.test(id) && ids.of.has(draft.inside)) return null;
  if (draft.inside) return draft.inside;
  const heading = draft.section?.draft ?? null;
  return id === undefined && heading !== draft ? heading : null;
}

/** The task with the longest id that is a prefix of this one: 1.2 for 1.2.3, 1 where there is no 1.2. */
function byPrefix(id: string, { given }: Ids): Draft | null {
  for (let end = id.lastIndexOf('.'); end > 0; end = id.lastIndexOf('.', end - 1)) {
    const found = given.get(id.slice(0, end));
    if (found) return found;
  }
  return null;
}

/** Every task behind its parent. One that turns out to be inside itself becomes a root. */
export function parentsFirst(all: readonly Draft[], parents: Map<Draft, Draft | null>): Draft[] {
  const order: Draft[] = [];
  const state = new Map<Draft, 'open' | 'done'>();
  for (const draft of all) {
    const way: Draft[] = [];
    for (let each: Draft | null = draft; each && !state.has(each); each = parents.get(each) ?? null) {
      way.push(each);
      state.set(each, 'open');
      const next = parents.get(each);
      if (next && state.get(next) === 'open') parents.set(each, null);
    }
    for (const each of way.reverse()) {
      state.set(each, 'done');
      order.push(each);
    }
  }
  return order;
}

const MAX_ID_CHARS = 80;

/**
 * Makes ids for tasks without one, from their titles, so that they stay the same when other tasks come and go. A hash
 * distinguishes what a slug cannot hold, and equal titles are counted.
 */
export function idMaker(taken: (id: string) => boolean): (title: string, parent: string | null) => string {
  const counts = new Map<string, number>();
  return (title, parent) => {
    const own = nameOf(title);
    const long = parent === null ? own : `${parent}.${own}`;
    const id = long.length <= MAX_ID_CHARS ? long : `${own.slice(0, 40)}-${hash(long)}`;
    let count = counts.get(id) ?? 1;
    let free = count === 1 ? id : `${id}-${count}`;
    while (taken(free)) {
      count += 1;
      free = `${id}-${count}`;
    }
    counts.set(id, count + 1);
    return free;
  };
}

function nameOf(title: string): string {
  // No id may end in ".lock": it becomes part of a branch.
  if (slug(title) === 'lock') return 'lock-task';
  const latin = /[A-Za-z0-9]/.test(title);
  if (latin && !/\P{ASCII}/u.test(title) && title.length <= 40) return slug(title, 40);
  return `${latin ? slug(title, 32) : 'task'}-${hash(title)}`;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 6);
}
