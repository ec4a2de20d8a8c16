import type { Note } from './collect.ts';
import { type Draft, newDraft, type Section } from './draft.ts';
import { readTitle } from './title.ts';

/** A check list such as "Definition of Done" is no work, unless the file has nothing else. */
export function withoutChecklists(drafts: readonly Draft[], notes: Note[]): Draft[] {
  if (drafts.every((draft) => draft.given.id === null)) return [...drafts];
  const left = new Map<Section, number>();
  const kept = drafts.filter((draft) => {
    const { section } = draft;
    if (section?.kind !== 'checklist' || draft.given.id !== null || draft.kind === 'heading') return true;
    left.set(section, (left.get(section) ?? 0) + 1);
    return false;
  });
  for (const [{ line, title }, count] of left)
    notes.push({
      line,
      code: 'spec/checklist',
      severity: 'warning',
      message: `The check boxes below "${title}" (${count}) are not read as tasks.`,
      hint: 'Give them numbers if they are.',
    });
  return kept;
}

/** `1.` inside task 2 is 2.1; a bare number there is the first word of a title. */
export function settleIds(
  drafts: readonly Draft[],
  ids: Map<Draft, string>,
  byGiven: Map<string, Draft>,
): void {
  const counting = new Set<Draft>();
  const ambiguous = repeatedMarkers(drafts);
  for (const draft of drafts) {
    const { id, bare } = draft.given;
    if (id === null || (ambiguous && draft.marker && !draft.inside)) continue;
    const outer = draft.inside ? ids.get(draft.inside) : undefined;
    let settled: string = id;
    if (draft.inside && outer !== undefined && /^\d+$/.test(id)) {
      const next = /^\d+$/.test(outer) && Number(id) === Number(outer) + 1 && !counting.has(draft.inside);
      if (bare && !next) continue;
      if (!next) {
        settled = `${outer}.${id}`;
        counting.add(draft.inside);
      }
    }
    ids.set(draft, settled);
    if (!byGiven.has(settled)) byGiven.set(settled, draft);
  }
}

/** Lists that each begin at `1. [ ]` number their items and not the tasks. */
function repeatedMarkers(drafts: readonly Draft[]): boolean {
  const roots = drafts.filter((draft) => !draft.inside && draft.given.id !== null);
  const markers = roots.filter((draft) => draft.marker);
  return markers.length > 0 && new Set(roots.map((draft) => draft.given.id)).size < roots.length;
}

/** Adds headings that are parents: `## 1. Setup` above 1.1, or above tasks without a number. */
export function promote(
  drafts: readonly Draft[],
  ids: Map<Draft, string>,
  byGiven: Map<string, Draft>,
): Draft[] {
  const all = [...drafts];
  for (const draft of all) {
    const id = ids.get(draft);
    if (id !== undefined ? byPrefix(id, byGiven) : draft.inside) continue;
    const section = above(draft, id);
    if (!section?.number || byGiven.has(section.number) || section.draft) continue;
    const given = readTitle(section.title.replace(/^[^\p{L}\p{N}[*_<(]+/u, ''));
    const heading = newDraft({ kind: 'section', given, rest: section.title, line: section.line, section });
    section.draft = heading;
    ids.set(heading, section.number);
    byGiven.set(section.number, heading);
    all.push(heading);
  }
  return all;
}

/** The heading that could be the parent of a task that has none. */
function above(draft: Draft, id: string | undefined): Section | null {
  const first = draft.kind !== 'item' ? (draft.section?.parent ?? null) : draft.section;
  if (id === undefined) return first;
  for (let section = first; section; section = section.parent)
    if (section.number !== null && id.startsWith(`${section.number}.`)) return section;
  return null;
}

export function parentOf(draft: Draft, ids: Map<Draft, string>, byGiven: Map<string, Draft>): Draft | null {
  const id = ids.get(draft);
  const named = id === undefined ? null : byPrefix(id, byGiven);
  if (named) return named === draft ? null : named;
  if (draft.inside && id !== undefined && /^\d+$/.test(id) && ids.has(draft.inside)) return null;
  if (draft.inside) return draft.inside;
  const heading = draft.section?.draft ?? null;
  return id === undefined && heading !== draft ? heading : null;
}

/** The task with the longest id that this one goes on from: 1.2 for 1.2.3, 1 where there is no 1.2. */
function byPrefix(id: string, byGiven: Map<string, Draft>): Draft | null {
  for (let end = id.lastIndexOf('.'); end > 0; end = id.lastIndexOf('.', end - 1)) {
    const found = byGiven.get(id.slice(0, end));
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
