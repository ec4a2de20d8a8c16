export interface Field {
  /** Lower case; `requirements` and `depends` whatever the file calls them. */
  name: string;
  value: string;
  /** Written with emphasis, as `_Name: value_`. */
  marked: boolean;
}

const REQUIREMENTS =
  /^(?:requirements?|reqs?|validates|covers|要件|要求|需求|requisitos|anforderungen|exigences|требования)$/iu;
const DEPENDS =
  /^(?:depends(?: on)?|dependenc(?:y|ies)|dependent on|blocked by|prerequisites?|依存(?:関係)?|依赖|前提(?:タスク)?|dependencias|abhängigkeiten|dépendances|зависимости)$/iu;
/** A value that is a list of requirements, whatever its name means in the file's language. */
const LISTED = /^requirements?\s+[A-Z]{0,8}-?\d/i;
const NAMED = /^([*_]*)(\p{L}[\p{L}\p{N} -]{0,30}?)([*_]*)\s*[:：]([*_]*)\s*([\s\S]*)$/u;
const PLAIN_DEPENDS = /^depends on\s+(?=(?:tasks?\s+)?#?(?:T?\d))([\s\S]*)$/i;
const VALIDATES = /\bvalidates:?[*_]*\s*(requirements?\s+[\s\S]*)$/i;

/** The field that a detail is, or undefined for plain text. */
export function fieldOf(detail: string): Field | undefined {
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
    return {
      name: known ?? name.toLowerCase(),
      value: (open ? withoutEnd(value, before) : value).trim(),
      marked,
    };
  }
  const depends = PLAIN_DEPENDS.exec(detail)?.[1];
  if (depends !== undefined) return { name: 'depends', value: depends, marked: false };
  return undefined;
}

/** Requirements that are named at the end of a sentence: `Property 3 — Validates: Requirements 2.2`. */
export function validated(detail: string): string | undefined {
  return VALIDATES.exec(detail)?.[1];
}

/** `_Requirements: 1.1_ and more`: the emphasis ends where it is closed, whatever follows. */
function withoutEnd(value: string, mark: string): string {
  const trimmed = value.trimEnd();
  if (trimmed.endsWith(mark)) return trimmed.slice(0, -mark.length);
  return trimmed.replace(/[*_]+(?=\s|[.,;)]|$)/, '');
}
