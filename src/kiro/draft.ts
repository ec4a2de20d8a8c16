import type { Box, Mark } from './task.ts';
import type { Title } from './title.ts';

/** A heading, while tasks.md is read. */
export interface Section {
  title: string;
  level: number;
  /** Index of the line. */
  line: number;
  parent: Section | null;
  /** `2` for `## 2. Core` and `### Phase 2`. */
  number: string | null;
  wave: number | null;
  kind: 'tasks' | 'legend' | 'checklist' | 'graph';
  verify: string[];
  /** The task that this heading is, if it is one. */
  draft: Draft | null;
}

export interface Detail {
  text: string;
  /** Where it begins, and where it ends. */
  line: number;
  last: number;
}

/** A task before ids and parents are settled. */
export interface Draft {
  kind: 'item' | 'heading' | 'section';
  given: Title;
  /** All behind the box, for titles whose number turns out to be a word. */
  rest: string;
  line: number;
  /** The id is only the number of a list item. */
  marker: boolean;
  indent: number;
  box: Box | null;
  mark: Mark;
  /** The task whose list item it stands in. */
  inside: Draft | null;
  section: Section | null;
  details: Detail[];
}

/** The nearest heading that is a task, from the innermost out. */
export function headingTask(section: Section | null): Draft | null {
  for (let each = section; each; each = each.parent) if (each.draft) return each.draft;
  return null;
}

export function newDraft(draft: Pick<Draft, 'kind' | 'given' | 'rest' | 'line' | 'section'>): Draft {
  return { marker: false, indent: 0, box: null, mark: 'open', inside: null, details: [], ...draft };
}
