import type { IncomingHttpHeaders } from 'node:http';

/** Sent with every request that changes something: a form or a plain fetch of another page cannot set it. */
export const OWN_HEADER = 'x-signalbox';

export interface Addresses {
  /** Host names and addresses that reach this server, without a port: `127.0.0.1`, `localhost`, `[::1]`. */
  names: ReadonlySet<string>;
  /** `web.publicUrl`: the address behind a reverse proxy. */
  publicUrl: URL | null;
}

/** The parts of a request that say where it comes from. */
type Headers = Pick<IncomingHttpHeaders, 'host' | 'origin' | 'content-type' | 'sec-fetch-site'> &
  Record<string, string | string[] | undefined>;

/**
 * The origin of pages that this request may come from; undefined where the Host header is none of ours. A page of another site
 * that points its own name at this address (DNS rebinding) sends its own name. The port is not compared: behind a tunnel it differs,
 * and the origin has to match it anyway.
 */
export function originOf({ host }: Headers, { names, publicUrl }: Addresses): string | undefined {
  const given = (host ?? '').toLowerCase();
  // Browsers leave out the default port of the scheme; some proxies add it.
  if (
    publicUrl &&
    [publicUrl.host, `${publicUrl.hostname}:${publicUrl.port || DEFAULT_PORTS[publicUrl.protocol]}`].includes(
      given,
    )
  )
    return publicUrl.origin;
  const [, name, port] = /^([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/.exec(given) ?? [];
  if (name === undefined || !names.has(name)) return undefined;
  // As browsers write an origin.
  return `http://${name}${port === undefined || port === '80' ? '' : `:${port}`}`;
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** Why a read is refused. Browsers say where a request comes from; the cookie alone does not separate ports. */
export function readProblem(headers: Headers, origin: string): string | undefined {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return 'It comes from another page.';
  if (headers.origin !== undefined && headers.origin !== origin) return 'It comes from another page.';
  return undefined;
}

/** Why a request that changes something is refused. */
export function changeProblem(headers: Headers, origin: string): string | undefined {
  if (headers.origin !== origin) return `Its Origin must be ${origin}.`;
  if (!/^application\/json(; ?charset=utf-8)?$/i.test(headers['content-type'] ?? ''))
    return 'Its content-type must be application/json.';
  if (headers[OWN_HEADER] === undefined) return `It needs the header ${OWN_HEADER}.`;
  return readProblem(headers, origin);
}

export function cookieName(port: number): string {
  return `signalbox_${port}`;
}

/** The values of a cookie. A page on another port of the same host can set one of the same name beside ours. */
export function cookiesOf(header: string | undefined, name: string): string[] {
  return (header ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`))
    .map((part) => part.slice(name.length + 1))
    .slice(0, MAX_COOKIES);
}

const MAX_COOKIES = 5;

/** No script, style, image or frame of another origin, no text that becomes code, no referrer. */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    // The address of the worker, and nothing else, passes through it.
    'trusted-types signalbox',
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
};
