import { InputError } from '../../model/errors.ts';

const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/;

/** An id from a stream; anything that could be read as an option or a path is none. */
export function sessionIdOf(value: unknown): string | null {
  return typeof value === 'string' && SESSION_ID.test(value) ? value : null;
}

/** Guards an id on its way into a command line. */
export function checkedSessionId(id: string): string {
  if (SESSION_ID.test(id)) return id;
  throw new InputError('agent/session-id', `${JSON.stringify(id.slice(0, 60))} is not a session id.`, {
    hint: 'Session ids hold letters, digits, ".", "_", ":" and "-"; see `signalbox sessions`.',
  });
}
