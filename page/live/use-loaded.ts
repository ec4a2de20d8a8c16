import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, get } from './api.ts';
import { link } from './live.ts';

interface Loaded<T> {
  data: T | undefined;
  error: ApiError | undefined;
}

/**
 * What a path answers, asked again whenever `version` is another one, and after an error also when the connection comes or goes. The
 * old answer stays until the new one is there, and the next question waits for it: where something changes more often than answers
 * come, the newest answer is shown, and not none.
 */
export function useLoaded<T>(path: string | null, version: unknown = 0): Loaded<T> {
  const isLive = link.value.kind === 'live';
  const [loaded, setLoaded] = useState<
    Loaded<T> & { path: string | null; version: unknown; isLive: boolean }
  >({
    path: null,
    version,
    isLive,
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
    const isAsked = loaded.path === path && loaded.version === version;
    const isLoaded = isAsked && (!loaded.error || loaded.isLive === isLive);
    if (path === null || isLoaded || asking.current) return;
    const abort = new AbortController();
    asking.current = abort;
    const take = (answer: Loaded<T>) => {
      if (asking.current !== abort) return;
      asking.current = undefined;
      setLoaded({ path, version, isLive, ...answer });
    };
    get<T>(path, abort.signal).then(
      (data) => take({ data, error: undefined }),
      (error: unknown) => {
        const data = loaded.path === path ? loaded.data : undefined;
        if (error instanceof ApiError) take({ data, error });
      },
    );
  }, [path, version, isLive, loaded]);
  return loaded.path === path ? loaded : { data: undefined, error: undefined };
}
