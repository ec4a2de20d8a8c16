import { join } from 'node:path';
import { readText } from '../git/refs.ts';
import { openTree } from './tree.ts';

/** The commit that a tree was at when a time came, by the log git keeps of it; undefined where there is none. */
export function headAt(path: string, time: Date): string | undefined {
  const tree = openTree(path);
  const log = tree && readText(join(tree.adminDir, 'logs', 'HEAD'));
  if (!log) return undefined;
  const moves = log.split('\n').flatMap((line) => {
    const [, before, after, seconds] = /^(\S+) (\S+) .*> (\d+) [+-]\d{4}(?:\t|$)/.exec(line) ?? [];
    return before && after ? [{ before, after, at: Number(seconds) * 1000 }] : [];
  });
  return moves.findLast(({ at }) => at <= time.getTime())?.after ?? moves[0]?.before;
}
