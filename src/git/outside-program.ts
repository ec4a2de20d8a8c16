import { isAbsolute, relative } from 'node:path';

/** What runs a text or a module that may lie in the tree, where git starts it. */
const INTERPRETERS =
  /^(ba|da|z|k|fi)?sh$|^(python|perl|ruby|node|php|lua|tclsh|deno|bun|java|make|gmake|sed|g?awk|npx|npm|pnpm|yarn|uv|uvx|env|xargs|sudo|nice|timeout)[\d.]*$/;
/** Flags, git's own placeholders and plain words; no paths. */
const HARMLESS = /^(-[\w=:,.+-]*|%[A-Za-z]|[\w:=,+-]+)$/;

/**
 * Whether a driver of git's config runs nothing that is in the work tree. A sandboxed agent writes there, and git would
 * run what it wrote outside of its walls. Said for what is plainly so: a program by its name or full path, and plain words.
 */
export function isOutsideProgram(command: string, workTree: string): boolean {
  if (command.trim() === '') return true;
  const words = command.trim().split(/\s+/).map(unquoted);
  const [program = '', ...rest] = words;
  if (words.includes(undefined) || program === undefined) return false;
  if (!rest.every((word) => word !== undefined && HARMLESS.test(word))) return false;
  if (isAbsolute(program)) return !isPlain(program) ? false : relative(workTree, program).startsWith('..');
  return /^[\w.+-]+$/.test(program) && !INTERPRETERS.test(program);
}

const isPlain = (path: string) => /^[\w./+@-]+$/.test(path);

/** Undefined where quotes are more than a pair around the word. */
function unquoted(word: string): string | undefined {
  const inner = /^"([^"]*)"$|^'([^']*)'$/.exec(word);
  const text = inner ? (inner[1] ?? inner[2] ?? '') : word;
  return /["'\\`$;|&<>(){}*?[\]~#!\n]/.test(text) ? undefined : text;
}
