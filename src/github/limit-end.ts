import { asRecord, parseJson } from '../model/text/json.ts';
import { type GhOptions, runGh } from './gh/run-gh.ts';

/** When the limit that was met ends, as far as GitHub tells; asking costs nothing. Undefined for one without a window. */
export async function limitEnd(host: string, options: GhOptions): Promise<string | undefined> {
  const { code, stdout } = await runGh(['api', 'rate_limit', '--hostname', host], options);
  if (code !== 0) return undefined;
  const { graphql, core } = asRecord(asRecord(parseJson(stdout)).resources);
  const ends = [graphql, core].map(asRecord).flatMap(({ remaining, reset }) => {
    return remaining === 0 && typeof reset === 'number' ? [reset * 1000] : [];
  });
  return ends.length === 0 ? undefined : new Date(Math.max(...ends)).toISOString();
}
