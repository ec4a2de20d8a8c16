/** Options for slow variants of one case, by their place in a list: the first few are quick enough in sum, the rest are in `full`. */
export function firstOnly(index: number, quick = 1): { tags?: 'full' } {
  return index < quick ? {} : { tags: 'full' };
}
