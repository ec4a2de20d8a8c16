/** A reason with issues called as in all other lines: `waits for 100 (failed)` is `waits for #100 (failed)`. */
export function withNames(reason: string, nameOf: (id: string) => string | undefined): string {
  const named = (whole: string, before: string, id: string) => {
    const name = nameOf(id);
    return name === undefined ? whole : `${before}${name}`;
  };
  if (reason.startsWith('waits for ')) return reason.replace(/(^waits for |\), )([^\s,(]+)/g, named);
  return reason.replace(/^(the plan stops at the first failure, and )(\S+)/, named);
}
