import { cleanLine } from '../model/text/clean-escape-quote-plural.ts';

const REQUIREMENTS =
  /^(?:requirements?|reqs?|validates|covers|要件|要求|需求|requisitos|anforderungen|exigences|требования)$/iu;
const DEPENDS =
  /^(?:depends(?: on)?|dependenc(?:y|ies)|dependent on|blocked by|prerequisites?|依存(?:関係)?|依赖|前提(?:タスク)?|dependencias|abhängigkeiten|dépendances|зависимости)$/iu;
/** A value that is a list of requirements, also after a name in an unknown language. */
const LISTED = /^requirements?\s+[A-Z]{0,8}-?\d/i;
const NAMED = /^([*_]*)(\p{L}[\p{L}\p{N} -]{0,30}?)([*_]*)\s*[:：]([*_]*)\s*([\s\S]*)$/u;
const PLAIN_DEPENDS = /^depends on\s+(?=(?:tasks?\s+)?#?(?:T?\d))([\s\S]*)$/i;
const VALIDATES = /\bvalidates:?[*_]*\s*(requirements?\s+[\s\S]*)$/i;

/**
 * Reads a detail as a field; undefined for plain text. Its name is in lower case, `requirements` and `depends` in all languages;
 * `marked` if it is written with emphasis, as `_Name: value_`.
 */
export function fieldOf(detail: string) {
  const [, before = '', name = '', after = '', behind = '', value = ''] = NAMED.exec(detail) ?? [];
  const marked = before !== '';
  const known =
    REQUIREMENTS.test(name) || (marked && LISTED.test(value))
      ? 'requirements'
      : DEPENDS.test(name)
        ? 'depends'
        : undefined;
  if (name !== '' && (known || marked)) {
    const open = marked && after === '' && behind === '';
    const text = open ? withoutEnd(value, before) : value;
    return { name: known ?? name.toLowerCase(), value: text.trim(), marked };
  }
  const depends = PLAIN_DEPENDS.exec(detail)?.[1];
  return depends === undefined ? undefined : { name: 'depends', value: depends, marked: false };
}

const NEXT_FIELD = /(?<=[*_])[\s,;|·]+(?=[*_]{1,3}\p{L}[\p{L}\p{N} -]{0,30}?[*_]*\s*[:：])/u;

/** The fields of `_Depends: 1.1_ _Boundary: x_`; any other text is one part. */
export function splitFields(detail: string): string[] {
  const parts = detail.split(NEXT_FIELD);
  return parts.every((part) => fieldOf(part)?.marked) ? parts : [detail];
}

/** Requirements that are named at the end of a sentence: `Property 3 — Validates: Requirements 2.2`. */
export function validated(detail: string): string | undefined {
  return VALIDATES.exec(detail)?.[1];
}

/** Removes the closing emphasis, also in `_Requirements: 1.1_ and more`. */
function withoutEnd(value: string, mark: string): string {
  const trimmed = value.trimEnd();
  if (trimmed.endsWith(mark)) return trimmed.slice(0, -mark.length);
  return trimmed.replace(/[*_]+(?=\s|[.,;)]|$)/, '');
}

const MAX_RANGE = 100;
const NONE =
  /^(?:-+|–|—|none|no|n\/?a|nothing|nil|なし|无|無|沒有|没有|ninguna?|keine|aucune?|нет)(?![\p{L}\p{N}])/iu;
const RANGE =
  /^([A-Za-z]{1,8}[-_]?)?(\d{1,6}(?:\.\d{1,6})*)\s*(?:[–—~-]|\.\.\.?|to|through|bis)\s*([A-Za-z]{1,8}[-_]?)?(\d{1,6}(?:\.\d{1,6})*)(?![\p{L}\p{N}.])/u;
const REQUIREMENT = /^#?((?:[A-Z]{1,8}[-_]?)?\d{1,6}(?:\.\d{1,6})*[a-z]?)(?![\p{L}\p{N}])/u;
const TASK =
  /^#?((?:T|TASK|TSK)-?\d{1,6}(?:\.\d{1,6})*[a-z]?|\d{1,6}(?:(?:\.\d{1,6})+[a-z]?)?)(?![\p{L}\p{N}])/u;
const REQUIREMENT_WORD = /^(?:requirements?|reqs?\.?|要件|需求|要求)[\s:]+/iu;
const TASK_WORD = /^(?:tasks?|タスク|任务|任務|작업|tareas?|aufgaben?|задач[аи])[\s:#]*(?=\d|T)/iu;

/** Whether a value is empty or says that there is nothing: `-`, `none`, `n/a`. */
export function isNone(value: string): boolean {
  return /^[\s.]*$/.test(value.trim().replace(NONE, ''));
}

/** The parts of `1.1, 1.2 (the second) and 3`. */
function parts(value: string): string[] {
  return value
    .replace(/\[([^\][]{0,300})\]\([^()\s]{0,2000}\)/g, '$1')
    .replace(/\([^()]*\)|（[^（）]*）/g, ' ')
    .split(/[,;|、，；]|\s+(?:and|und|et|y|и|と|和|&|\+)\s+/iu)
    .map((part) => part.replace(/^[\s*_`"']+|[\s*_`"'.]+$/g, ''))
    .filter((part) => part !== '');
}

/** Requirement ids of a list, with ranges expanded. With `words`, parts that are not ids are kept as text. */
export function requirementList(value: string, options: { words: boolean }): string[] {
  return parts(value).flatMap((part) => {
    const text = part.replace(REQUIREMENT_WORD, '');
    const range = expand(text);
    if (range) return range;
    const id = REQUIREMENT.exec(text)?.[1];
    if (id !== undefined) return [id];
    if (/^all\b/i.test(text)) return ['all'];
    return options.words && !NONE.test(text) ? [cleanLine(text, 100)] : [];
  });
}

/** Task ids of a list; `words` are the parts that are not ids. */
export function taskList(value: string) {
  const list: Record<'ids' | 'words', string[]> = { ids: [], words: [] };
  if (NONE.test(value.trim())) return list;
  for (const part of parts(value)) {
    if (NONE.test(part)) continue;
    const text = part.replace(TASK_WORD, '');
    const range = expand(text);
    const id = TASK.exec(text)?.[1];
    if (range) list.ids.push(...range);
    else if (id !== undefined) list.ids.push(id);
    else list.words.push(cleanLine(part, 100));
  }
  return list;
}

/** Expands `3.1–3.3` to 3.1, 3.2, 3.3; undefined if it is not a countable range. */
function expand(text: string): string[] | undefined {
  const [, prefix = '', from = '', otherPrefix, to = ''] = RANGE.exec(text) ?? [];
  if (from === '' || (otherPrefix !== undefined && otherPrefix !== prefix)) return undefined;
  const first = from.split('.');
  const last = to.split('.');
  const start = Number(first.at(-1));
  const end = Number(last.at(-1));
  const stem = first.slice(0, -1).join('.');
  const same = last.length === 1 || last.slice(0, -1).join('.') === stem;
  if (!same || end < start || end - start >= MAX_RANGE) return undefined;
  return Array.from({ length: end - start + 1 }, (_, index) =>
    [prefix + stem, String(start + index)].filter((each) => each !== '').join(stem === '' ? '' : '.'),
  );
}
