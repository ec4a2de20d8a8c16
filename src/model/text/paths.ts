/** Says why a text cannot name files of a repository, or undefined when it can. */
export function pathProblem(path: string): string | undefined {
  if (path.trim() === '') return 'is empty';
  if (path.startsWith('/') || path.startsWith('~')) return 'is not relative to the repository';
  const above = partsOf(path).lastIndexOf('..');
  if (above < 0) return undefined;
  return partsOf(path)[above - 1] === '**'
    ? 'goes up from `**`, which may be any directory'
    : 'leaves the repository';
}

/**
 * Whether two declared paths may mean the same file. A directory means all files in it, `*` for part of a name,
 * `**` for any number of directories. When in doubt they do.
 */
export function pathsMeet(a: string, b: string): boolean {
  return meet(partsOf(a), partsOf(b), { a: isFile(a), b: isFile(b) });
}

/** The way from the top of the repository; `..` is only left where it cannot be followed. */
function partsOf(path: string): string[] {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    const last = parts.at(-1);
    if (part === '' || part === '.') continue;
    if (part === '..' && last !== undefined && last !== '..' && last !== '**') parts.pop();
    else parts.push(part);
  }
  return parts;
}

/** Has an ending, so it is not a directory. */
function isFile(path: string): boolean {
  return /[^/]\.[A-Za-z0-9]+$/.test(path);
}

function meet(a: readonly string[], b: readonly string[], file: { a: boolean; b: boolean }): boolean {
  const [first, ...restA] = a;
  const [other, ...restB] = b;
  // One of them is a directory above the other, or the same.
  if (first === undefined) return !file.a || b.every((part) => part === '**');
  if (other === undefined) return !file.b || a.every((part) => part === '**');
  if (first === '**') return meet(restA, b, file) || meet(a, restB, file);
  if (other === '**') return meet(a, restB, file) || meet(restA, b, file);
  return partsMeet(first, other) && meet(restA, restB, file);
}

/** Compares two patterns only by the text before their first and after their last wildcard. */
function partsMeet(a: string, b: string): boolean {
  const wild = /[*?[{]/;
  if (!wild.test(a) && !wild.test(b)) return a === b;
  const head = (part: string) => part.slice(0, wild.test(part) ? part.search(wild) : part.length);
  const tail = (part: string) => (wild.test(part) ? (/[^*?[\]{}]*$/.exec(part)?.[0] ?? '') : part);
  const [headA, headB, tailA, tailB] = [head(a), head(b), tail(a), tail(b)];
  const heads = headA.startsWith(headB) || headB.startsWith(headA);
  return heads && (tailA.endsWith(tailB) || tailB.endsWith(tailA));
}
