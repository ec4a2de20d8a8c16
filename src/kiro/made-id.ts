import { createHash } from 'node:crypto';
import { slug } from '../model/ids.ts';

const MAX = 80;

/**
 * Makes ids for tasks that the file gives none, from their titles, so that they stay the same when other tasks come
 * and go. What a slug cannot hold is told apart by a hash, and equal titles are counted.
 */
export function idMaker(taken: (id: string) => boolean): (title: string, parent: string | null) => string {
  const counts = new Map<string, number>();
  return (title, parent) => {
    const own = nameOf(title);
    const long = parent === null ? own : `${parent}.${own}`;
    const id = long.length <= MAX ? long : `${own.slice(0, 40)}-${hash(long)}`;
    let count = counts.get(id) ?? 1;
    let free = count === 1 ? id : `${id}-${count}`;
    while (taken(free)) {
      count += 1;
      free = `${id}-${count}`;
    }
    counts.set(id, count + 1);
    return free;
  };
}

function nameOf(title: string): string {
  // No id may end in ".lock": it becomes part of a branch.
  if (slug(title) === 'lock') return 'lock-task';
  const latin = /[A-Za-z0-9]/.test(title);
  if (latin && !/\P{ASCII}/u.test(title) && title.length <= 40) return slug(title, 40);
  return `${latin ? slug(title, 32) : 'task'}-${hash(title)}`;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 6);
}
