import { parseJson } from '../logic/parse-json.ts';
import { person } from './preferences.ts';

/** A refusal, in the words of the command line. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | null;

  constructor(
    status: number,
    { code, message, hint }: { code: string; message: string; hint: string | null },
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

const UNREACHABLE = {
  code: 'page/unreachable',
  message: 'The server of this page cannot be reached.',
  hint: 'Start it again: signalbox web',
};

async function answerOf<T>(asked: Promise<Response>): Promise<T> {
  const unreachable = (error: unknown): never => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, UNREACHABLE);
  };
  const answer = await asked.catch(unreachable);
  // An answer can break off in its middle: what is there then is no answer.
  type Body = T & { error?: ConstructorParameters<typeof ApiError>[1] };
  const body = await answer
    .text()
    .then(parseJson<Body>)
    .catch(unreachable);
  if (answer.ok) return body;
  throw new ApiError(answer.status, body.error ?? UNREACHABLE);
}

export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return answerOf<T>(fetch(`/api/v1${path}`, signal ? { signal } : {}));
}

/** Sends something that changes a ticket or plan, with the name that the person gave. */
export function post<T>(path: string, body: Record<string, unknown> = {}): Promise<T> {
  const by = person.value.trim();
  return send<T>(path, by ? { ...body, by } : body);
}

export function send<T>(path: string, body: Record<string, unknown>): Promise<T> {
  return answerOf<T>(
    fetch(`/api/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-signalbox': '1' },
      body: JSON.stringify(body),
    }),
  );
}

export const at = (...parts: string[]) => `/${parts.map(encodeURIComponent).join('/')}`;
