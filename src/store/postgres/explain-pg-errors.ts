import { InputError, messageOf, SignalboxError } from '../../model/errors.ts';
import { type ConnectionParameters, shownAddress } from './connection-parameters.ts';

/** The server is gone or does not take connections now; waiting may help. 08: connection, 53: no room, 57P: shut down. */
const LATER = /^(08|53|57P)/;
/** Codes of the network, in words. */
const NETWORK: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ETIMEDOUT: 'it does not answer',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host cannot be looked up now',
  EHOSTUNREACH: 'there is no way to that host',
  ENETUNREACH: 'there is no way to that host',
  ENOENT: 'there is no such socket',
};
const NO_CONNECTION_LEFT = '53300';

interface PgError {
  code?: string;
  /** Present in errors that the server sent. */
  severity?: string;
  message: string;
}

/** Whether the connection is lost, so that what was asked may have been done or not. */
export function isConnectionLoss(error: unknown): boolean {
  const { code = '', severity } = error as PgError;
  if (severity !== undefined) return LATER.test(code);
  return (
    Object.hasOwn(NETWORK, code) ||
    /^(Connection terminated|Client was closed|Client has encountered)/.test(messageOf(error))
  );
}

/**
 * An error of `pg` as a sentence and what to do. A store that cannot be reached is a storage error, for which an engine waits. The
 * original error is left out: nothing of a library is shown unread.
 */
export function explainPgError(error: unknown, parameters: ConnectionParameters): unknown {
  if (error instanceof SignalboxError) return error;
  const { code = '', severity, message = String(error) } = (error ?? {}) as PgError;
  const place = shownAddress(parameters);
  const refuse = (kind: string, why: string, hint?: string) =>
    new InputError(`store/${kind}`, withoutPassword(why, parameters), { hint, details: { store: place } });
  if (code === '28P01' || /client password must be a/.test(message))
    return refuse(
      'password',
      parameters.password === ''
        ? `${place} asks for the password of ${parameters.user}, and none was given.`
        : `${place} refuses the password of ${parameters.user}.`,
      'Put it into SIGNALBOX_STORE, the file of the address, PGPASSFILE or PGPASSWORD.',
    );
  if (code === '28000' || code === '3D000') return refuse('refused', `${place}: ${message}.`);
  if (code === '42501')
    return refuse(
      'forbidden',
      `${parameters.user} may not do this in ${place}: ${message}.`,
      'Ask the owner of the database for a role that may: signalbox fleet init prints the grants.',
    );
  if (code === '42P01' || code === '3F000' || code === '42883')
    return refuse(
      'missing',
      `${place} has no Signalbox schema, or an old one.`,
      `Its owner makes it with: signalbox fleet init ${place}`,
    );
  if (/SSL|TLS|certificate|self.signed|ERR_TLS/i.test(`${code} ${message}`) && severity === undefined)
    return refuse(
      'tls',
      `No encrypted connection to ${place}: ${message}.`,
      'Name the certificate of its authority with ?sslrootcert=<file>; without encryption: ?sslmode=disable',
    );
  if (isConnectionLoss(error) || (severity === undefined && /timeout/i.test(message))) {
    const why = code === NO_CONNECTION_LEFT ? 'it has no connection left' : (NETWORK[code] ?? message);
    return new SignalboxError(
      'state/storage',
      withoutPassword(`Cannot reach the store ${place}: ${why.replace(/\.$/, '')}.`, parameters),
      {
        hint: 'What was stored is intact. Try again when the database is there.',
        details: { path: place, isDatabase: true },
      },
    );
  }
  return new SignalboxError(
    'store/failed',
    withoutPassword(`${place}: ${message.replace(/\.$/, '')}${code ? ` (${code})` : ''}.`, parameters),
    { details: { store: place, code } },
  );
}

function withoutPassword(text: string, { password }: ConnectionParameters): string {
  return password ? text.replaceAll(password, '…') : text;
}
