import type { Said } from './watched.ts';

/** Anybody may say anything on a public repository; these belong to it. */
const TRUSTED = new Set(['OWNER', 'MEMBER', 'COLLABORATOR']);

export function isTrusted(association: string): boolean {
  return TRUSTED.has(association);
}

/** Whether an author is listened to: what others say never reaches an agent, and their reviews count for nothing. */
export function isHeard(said: Said, reviewers: readonly string[]): boolean {
  if (said.own || isTrusted(said.association)) return true;
  return reviewers.some((login) => login.toLowerCase() === said.author.toLowerCase());
}
