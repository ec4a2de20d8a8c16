import { InputError } from '../model/errors.ts';
import type { Path, Place } from './yaml-source.ts';

/** Something wrong in a content file, with its position. */
export interface Problem {
  file: string;
  line: number;
  column: number;
  message: string;
  hint?: string;
}

/** A problem of a workflow before its place in the file is known. */
export interface Finding {
  path: Path;
  on?: 'key' | 'value';
  message: string;
  hint?: string;
}

interface Placing {
  file: string;
  at(path: Path, on?: 'key' | 'value'): Place;
}

export function placed(source: Placing, findings: readonly Finding[]): Problem[] {
  return findings.map(({ path, on, message, hint }) => {
    const problem = { file: source.file, ...source.at(path, on), message };
    return hint ? { ...problem, hint } : problem;
  });
}

export function sayProblem(problem: Problem): string {
  const line = `${problem.file}:${problem.line}:${problem.column}: ${problem.message}`;
  return problem.hint ? `${line}\n    ${problem.hint}` : line;
}

/** In reading order, `first` before other files, each once: two phases may share a prompt and its mistakes. */
export function tidy(problems: readonly Problem[], first: string): Problem[] {
  const seen = new Set<string>();
  const all = problems.filter((problem) => {
    const key = JSON.stringify([problem.file, problem.line, problem.column, problem.message]);
    return !seen.has(key) && seen.add(key);
  });
  const rank = (problem: Problem) => (problem.file === first ? '' : problem.file);
  return all.sort(
    (a, b) =>
      rank(a).localeCompare(rank(b)) ||
      a.line - b.line ||
      a.column - b.column ||
      a.message.localeCompare(b.message),
  );
}

/** Turns an error about a file into a problem of that file, with the place the error knows. */
export function problemFrom(error: unknown, file: string, place = { line: 1, column: 1 }): Problem {
  if (!(error instanceof InputError)) throw error;
  const { line, column } = error.details as { line?: number; column?: number };
  const at = line !== undefined && column !== undefined ? { line, column } : place;
  const prefix = `${file}:${at.line}:${at.column}: `;
  const message = error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message;
  return { file, ...at, message, ...(error.hint ? { hint: error.hint } : {}) };
}

/** One error for many problems. */
export function problemsError(code: string, what: string, problems: readonly Problem[]): InputError {
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
  return new InputError(code, `${what} has ${count}:\n${problems.map(sayProblem).join('\n')}`, {
    hint: 'Mend the file at those places; `signalbox workflow check` looks again.',
    details: { problems },
  });
}
