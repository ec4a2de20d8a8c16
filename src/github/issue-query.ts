import { asArray, asRecord, asText } from '../model/text/json.ts';
import type { RepositoryName } from './gh/repository-name.ts';

/** One issue to ask for. */
export interface Wanted {
  repository: RepositoryName;
  number: number;
}

/** Fields that older servers do not know; asked for until the server says so. */
export const OPTIONAL = ['blockedBy', 'parent', 'subIssues'] as const;
export type OptionalField = (typeof OPTIONAL)[number];

export const PAGED = ['labels', 'blockedBy', 'subIssues'] as const;
export type PagedField = (typeof PAGED)[number];

const PAGE = 'pageInfo { hasNextPage endCursor }';
const PLACE = 'number repository { nameWithOwner }';
const NODES: Record<PagedField, string> = { labels: 'name', blockedBy: PLACE, subIssues: PLACE };
const SIZES: Record<PagedField, number> = { labels: 100, blockedBy: 50, subIssues: 50 };

export interface Query {
  text: string;
  /** Strings only; they go in as variables, never into the text. */
  variables: Record<string, string>;
}

/** One query for many issues of one host. `r0` is the first repository, `i12` issue 12 in it. */
export function issuesQuery(wanted: readonly Wanted[], without: ReadonlySet<OptionalField>): Query {
  const optional: Record<OptionalField, string> = {
    blockedBy: connection('blockedBy'),
    parent: `parent { ${PLACE} }`,
    subIssues: connection('subIssues'),
  };
  const more = OPTIONAL.flatMap((field) => (without.has(field) ? [] : [optional[field]])).join(' ');
  const fields = `fragment F on Issue { number title body state url milestone { title } ${connection('labels')} ${more} }`;
  const issue = ({ number }: Wanted) =>
    `i${number}: issueOrPullRequest(number: ${number}) { __typename ... on Issue { ...F } }`;
  const query = byRepository(wanted, issue);
  return { ...query, text: `${query.text} ${fields}` };
}

/** What is missing of one issue. */
export interface Rest extends Wanted {
  field: PagedField;
  after: string;
}

/** One query for the next pages of many issues; `p0` is the first of them. */
export function pagesQuery(rests: readonly Rest[]): Query {
  const number = new Map(rests.map((rest, index) => [rest, index]));
  const page = (rest: Rest) => {
    const index = number.get(rest) ?? 0;
    return `p${index}: issue(number: ${rest.number}) { ${connection(rest.field, `$c${index}`)} }`;
  };
  const cursors = Object.fromEntries(rests.map(({ after }, index) => [`c${index}`, after]));
  return byRepository(rests, page, cursors);
}

function connection(field: PagedField, after?: string): string {
  const cursor = after === undefined ? '' : `, after: ${after}`;
  return `${field}(first: ${SIZES[field]}${cursor}) { nodes { ${NODES[field]} } ${PAGE} }`;
}

function byRepository<T extends Wanted>(
  wanted: readonly T[],
  one: (each: T) => string,
  more: Record<string, string> = {},
): Query {
  const variables: Record<string, string> = { ...more };
  const parts = [...repositories(wanted).values()].map((group, index) => {
    const { owner, name } = group[0]?.repository ?? { owner: '', name: '' };
    variables[`o${index}`] = owner;
    variables[`n${index}`] = name;
    const inside = group.map(one).join(' ');
    return `r${index}: repository(owner: $o${index}, name: $n${index}) { nameWithOwner ${inside} }`;
  });
  const types = Object.keys(variables).map((name) => `$${name}: String!`);
  return { text: `query(${types.join(', ')}) { ${parts.join(' ')} }`, variables };
}

/** Groups in the order of the aliases `r0`, `r1`… */
export function repositories<T extends Wanted>(wanted: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const each of wanted) {
    const key = `${each.repository.owner}/${each.repository.name}`.toLowerCase();
    const group = groups.get(key);
    if (group) group.push(each);
    else groups.set(key, [each]);
  }
  return groups;
}

/** The aliases of one issue in an answer to `issuesQuery`. */
export function aliases(wanted: readonly Wanted[], one: Wanted): [repository: string, issue: string] {
  const index = [...repositories(wanted).values()].findIndex((group) => group.includes(one));
  return [`r${index}`, `i${one.number}`];
}

export interface GraphqlError {
  message: string;
  type: string;
  path: string[];
}

export function graphqlErrors(body: unknown): GraphqlError[] {
  return asArray(asRecord(body).errors).map((each) => {
    const { message, type, path, extensions } = asRecord(each);
    const code = asText(asRecord(extensions).code);
    return { message: asText(message), type: asText(type) || code, path: asArray(path).map(String) };
  });
}

/** Optional fields that the server says it does not have. */
export function unknownFields(errors: readonly GraphqlError[]): OptionalField[] {
  const named = errors.map(
    ({ message }) => /Field ['"](\w+)['"] (?:doesn't|does not) exist/.exec(message)?.[1],
  );
  return OPTIONAL.filter((field) => named.includes(field));
}
