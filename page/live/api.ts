import { useEffect, useRef, useState } from 'preact/hooks';
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

export interface Loaded<T> {
  data: T | undefined;
  error: ApiError | undefined;
}

/**
 * What a path answers, asked again whenever `version` is another one. The old answer stays until the new one is there, and the next
 * question waits for it: where something changes more often than answers come, the newest answer is shown, and not none.
 */
export function useLoaded<T>(path: string | null, version: unknown = 0): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T> & { path: string | null; version: unknown }>({
    path: null,
    version,
    data: undefined,
    error: undefined,
  });
  const asking = useRef<AbortController | undefined>(undefined);
  useEffect(
    () => () => {
      asking.current?.abort();
      asking.current = undefined;
    },
    [path],
  );
  useEffect(() => {
    const isLoaded = loaded.path === path && loaded.version === version;
    if (path === null || isLoaded || asking.current) return;
    const abort = new AbortController();
    asking.current = abort;
    const take = (answer: Loaded<T>) => {
      if (asking.current !== abort) return;
      asking.current = undefined;
      setLoaded({ path, version, ...answer });
    };
    get<T>(path, abort.signal).then(
      (data) => take({ data, error: undefined }),
      (error: unknown) => {
        const data = loaded.path === path ? loaded.data : undefined;
        if (error instanceof ApiError) take({ data, error });
      },
    );
  }, [path, version, loaded]);
  return loaded.path === path ? loaded : { data: undefined, error: undefined };
}
