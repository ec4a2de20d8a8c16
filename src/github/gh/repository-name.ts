export interface RepositoryName {
  /** Lower case; `github.com` or an Enterprise host. */
  host: string;
  owner: string;
  name: string;
}

export const GITHUB = 'github.com';
/** An issue number is a GraphQL Int. */
export const MAX_NUMBER = 2 ** 31 - 1;

export const OWNER = '[A-Za-z0-9][A-Za-z0-9_-]{0,99}';
export const NAME = '[A-Za-z0-9._-]{1,100}';
export const HOST = '[A-Za-z0-9-]+(?:\\.[A-Za-z0-9-]+)+(?::\\d{1,5})?';

/** Well-known forges that gh does not speak to. */
const ELSEWHERE =
  /(^|\.)(gitlab\.com|bitbucket\.org|codeberg\.org|gitea\.com|sr\.ht|azure\.com|visualstudio\.com)$/;

export function isOtherForge(host: string | undefined): boolean {
  return host !== undefined && ELSEWHERE.test(host);
}

const FULL = new RegExp(`^(?:(${HOST})/)?(${OWNER})/(${NAME})$`);

/** Reads `owner/repo` or `host/owner/repo`. */
export function parseRepository(text: string, host = GITHUB): RepositoryName | undefined {
  const [, given, owner, name] = FULL.exec(text.trim()) ?? [];
  return repositoryName(given ?? host, owner, name);
}

export function repositoryName(
  host: string,
  owner: string | undefined,
  name: string | undefined,
): RepositoryName | undefined {
  if (owner === undefined || name === undefined || name === '.' || name === '..') return undefined;
  return { host: host.toLowerCase().replace(/^(www|ssh)\.github\.com$/, GITHUB), owner, name };
}

/** As `gh --repo` takes it. */
export function repositoryText({ host, owner, name }: RepositoryName): string {
  return host === GITHUB ? `${owner}/${name}` : `${host}/${owner}/${name}`;
}

/** GitHub ignores upper and lower case in names. */
export function sameRepository(a: RepositoryName, b: RepositoryName): boolean {
  return repositoryText(a).toLowerCase() === repositoryText(b).toLowerCase();
}

export function githubKey(repository: RepositoryName, number: number): string {
  return `github:${repositoryText(repository).toLowerCase()}#${number}`;
}

/** Reads what a git remote points at: https, ssh and scp-like addresses; undefined for paths and anything else. */
export function parseRemote(url: string): RepositoryName | undefined {
  const scp = /^(?:[^@/\s]+@)?([A-Za-z0-9.-]+):(?!\/\/)\/?(.+)$/.exec(url.trim());
  const [host, path] = scp ? [scp[1] ?? '', scp[2] ?? ''] : fromUrl(url.trim());
  const parts = path
    .replace(/\/+$/, '')
    .replace(/\.git$/, '')
    .split('/');
  if (host === '' || parts.length !== 2) return undefined;
  const [owner = '', name = ''] = parts;
  return FULL.test(`${owner}/${name}`) ? repositoryName(host, owner, name) : undefined;
}

function fromUrl(text: string): [host: string, path: string] {
  if (!/^(https?|ssh|git|git\+ssh):\/\//i.test(text) || !URL.canParse(text)) return ['', ''];
  const url = new URL(text);
  const port = url.port !== '' && url.protocol.startsWith('http') ? `:${url.port}` : '';
  return [url.hostname + port, url.pathname.replace(/^\/+/, '')];
}
