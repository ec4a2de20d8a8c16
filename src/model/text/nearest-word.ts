/** The candidate that a person most likely meant; undefined if none is close. Case, `-` and `_` are ignored. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const distance = limitedDistance(fold(word), fold(candidate));
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** ` Did you mean "x"?` or an empty text, to append to a sentence. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const near = nearest(word, candidates);
  return near === undefined ? '' : ` Did you mean ${JSON.stringify(near)}?`;
}

function fold(text: string): string {
  return text.toLowerCase().replace(/[-_ ]/g, '');
}

/** Edit distance, or infinity when it is more than a third of the longer word. */
function limitedDistance(a: string, b: string): number {
  const limit = Math.floor(Math.max(a.length, b.length) / 3);
  if (Math.abs(a.length - b.length) > limit) return Number.POSITIVE_INFINITY;
  const distance = editDistance(a, b);
  return distance > limit ? Number.POSITIVE_INFINITY : distance;
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one text into the other. */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min(at(above, j) + 1, at(row, j - 1) + 1, at(above, j - 1) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, at(before, j - 2) + 1);
      row.push(cost);
    }
    [before, above] = [above, row];
  }
  return at(above, b.length);
}

function at(row: number[], index: number): number {
  return row[index] ?? 0;
}
