/** How a ticket left a tree that people work in, too. */
export interface TreeLeft {
  head: string;
  /** What was not committed, with a sum of its content each. */
  files: Readonly<Record<string, string>>;
  /** The attempt that left it so; set where that was found out later. */
  after?: string;
}

/** What of a tree, as it is now, was not there in this form when the ticket stopped. */
export function notOf(left: TreeLeft | undefined, now: TreeLeft): string[] {
  return Object.entries(now.files).flatMap(([file, sum]) => (left?.files[file] === sum ? [] : [file]));
}
