/** A problem of the store with its file, unless the message has it already. */
export function sayProblem({ path, message }: { path: string; message: string }): string {
  return message.includes(path) ? message : `${path}: ${message}`;
}
