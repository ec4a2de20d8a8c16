import { readFileSync } from 'node:fs';
import { privateText, type StoreAddress } from '../../config/find-config-and-state.ts';
import { type Env, expandPath, userHome } from '../../machine/paths-and-user-home.ts';
import { InputError } from '../../model/errors.ts';

/** What `pg` needs to connect. Plain data, because a thread gets it, too. */
export interface ConnectionParameters {
  /** A name, an IP address, or the directory of a socket. */
  host: string;
  port: number;
  database: string;
  user: string;
  /** Empty where there is none. */
  password: string;
  tls: TlsParameters | null;
}

interface TlsParameters {
  /** Whether the certificate has to be of a known authority, and of that host. */
  verifies: 'nothing' | 'authority' | 'host';
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
}

const MODES: Record<string, TlsParameters['verifies'] | null> = {
  disable: null,
  require: 'nothing',
  'verify-ca': 'authority',
  'verify-full': 'host',
};
const PARAMETERS = ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'];
const FORM = 'postgres://user@host:5432/database';

/** The address without the password, for people. */
export function shownAddress({ user, host, port, database }: ConnectionParameters): string {
  const place = host.startsWith('/') ? `/${database}?host=${host}` : `${host}:${port}/${database}`;
  return `postgres://${encodeURIComponent(user)}@${place}`;
}

/** Reads an address, and takes the password from where it may be: the address itself if that is no argument, PGPASSWORD, PGPASSFILE. */
export function connectionParameters(
  address: StoreAddress,
  { env, cwd }: { env: Env; cwd: string },
): ConnectionParameters {
  const url = parsed(address);
  const password = decoded(url.password);
  const options = url.searchParams;
  if (address.from === 'argument' && (password !== '' || options.has('password'))) throw passwordInArgument();
  const unknown = [...options.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined)
    throw refused(
      `The address of the store has an unknown parameter "${unknown}".`,
      `Known are: ${PARAMETERS.join(', ')}.`,
    );
  const twice = PARAMETERS.find((name) => options.getAll(name).length > 1);
  if (twice !== undefined) throw refused(`The address of the store has "${twice}" twice.`, 'Leave one out.');
  const host = options.get('host') ?? decoded(url.hostname).replace(/^\[(.*)\]$/, '$1');
  const user = decoded(url.username) || env.PGUSER || env.USER || '';
  if (host === '' || host === NO_HOST)
    throw refused('The address of the store names no host.', `It has this form: ${FORM}`);
  if (user === '') throw refused('The address of the store names no user.', `It has this form: ${FORM}`);
  const known = {
    host,
    port: url.port === '' ? 5432 : Number(url.port),
    database: decoded(url.pathname.slice(1)) || user,
    user,
  };
  const file = (path: string) => expandPath(path, cwd, userHome(env));
  return {
    ...known,
    password: password || env.PGPASSWORD || fromPasswordFile(known, env.PGPASSFILE && file(env.PGPASSFILE)),
    tls: tlsParameters(options, host, env, file),
  };
}

function parsed({ text, from }: StoreAddress): URL {
  let url: URL | undefined;
  try {
    // A user without a host is no URL elsewhere; here the host may be the directory of a socket.
    url = new URL(text.replace(/^([a-z]+:\/\/[^/?#]*@)(?=[/?]|$)/, `$1${NO_HOST}`));
  } catch {
    // The error contains the address, and that may contain a password.
  }
  if (url && /^postgres(ql)?:$/.test(url.protocol)) return url;
  const where = { argument: 'that was given', variable: 'in SIGNALBOX_STORE', file: 'in the file' }[from];
  throw refused(`The address of the store ${where} cannot be read.`, `It has this form: ${FORM}. ${CODES}`);
}

const CODES = 'In a password, "#" is written as %23, "/" as %2F, "?" as %3F, "@" as %40, "%" as %25.';

const NO_HOST = 'none.invalid';

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refused(
      'The address of the store has a "%" that is no part of a code such as %25.',
      'Write %25 for "%".',
    );
  }
}

function refused(message: string, hint: string): InputError {
  return new InputError('store/address', message, { hint });
}

function passwordInArgument(): InputError {
  return new InputError(
    'store/password-argument',
    'The address contains a password, and other users of this machine can see arguments.',
    {
      hint:
        'Leave it out and set PGPASSWORD or PGPASSFILE, or put the whole address into SIGNALBOX_STORE or into the file store-address ' +
        'in your Signalbox home, with the mode 600. Change the password: it is in the history of your shell now.',
    },
  );
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/;

/** Encryption is the default wherever the connection leaves the machine, and then it has to be that very host. */
function tlsParameters(
  options: URLSearchParams,
  host: string,
  env: Env,
  file: (path: string) => string,
): TlsParameters | null {
  const isLocal = host.startsWith('/') || LOOPBACK.test(host);
  const mode = options.get('sslmode') ?? env.PGSSLMODE ?? (isLocal ? 'disable' : 'verify-full');
  const verifies = MODES[mode];
  if (verifies === undefined)
    throw refused(
      `sslmode=${mode} is not known here, or would encrypt only perhaps.`,
      `Choose one of: ${Object.keys(MODES).join(', ')}.`,
    );
  if (verifies === null || host.startsWith('/')) return null;
  const text = (name: string, variable: string) => {
    const path = options.get(name) ?? env[variable];
    return path && path !== 'system' ? certificate(file(path), name) : undefined;
  };
  const [ca, cert, key] = [
    text('sslrootcert', 'PGSSLROOTCERT'),
    text('sslcert', 'PGSSLCERT'),
    text('sslkey', 'PGSSLKEY'),
  ];
  return {
    // As everywhere else: an authority that is named has to be the right one.
    verifies: verifies === 'nothing' && ca !== undefined ? 'authority' : verifies,
    ca,
    cert,
    key,
  };
}

function certificate(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw refused(
      `${name}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`,
      'Name a file in PEM format.',
    );
  }
}

/** The first line of a password file that fits. Each has host:port:database:user:password, where * fits everything. */
function fromPasswordFile(
  { host, port, database, user }: Omit<ConnectionParameters, 'password' | 'tls'>,
  file: string | undefined,
): string {
  if (!file) return '';
  const wanted = [host.startsWith('/') ? 'localhost' : host, String(port), database, user];
  for (const line of privateText(file).split('\n')) {
    if (line.startsWith('#')) continue;
    // A backslash takes the next character as it is.
    const fields = [...line.matchAll(/((?:\\.|[^:\\])*)(?::|$)/g)].map(([, field = '']) =>
      field.replaceAll(/\\(.)/g, '$1'),
    );
    if (fields.length >= 5 && wanted.every((value, at) => fields[at] === '*' || fields[at] === value))
      return fields[4] ?? '';
  }
  return '';
}

/** The same for the constructor of a client of `pg`, which must not look for anything itself. */
export function clientConfig({ tls, password, ...place }: ConnectionParameters) {
  const { verifies, ...files } = tls ?? { verifies: 'nothing' as const };
  return {
    ...place,
    // A function, because an empty text would make it read the environment.
    password: () => password,
    ssl:
      tls === null
        ? false
        : {
            ...files,
            rejectUnauthorized: verifies !== 'nothing',
            ...(verifies === 'authority' ? { checkServerIdentity: () => undefined } : {}),
          },
  };
}
