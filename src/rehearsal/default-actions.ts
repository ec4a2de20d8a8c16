import type { Access } from '../model/agent.ts';
import type { Action, Situation } from './scenario.ts';

/** What the agent does when no rule speaks of this attempt: a small commit where it may write, then its result. */
export function defaultActions(now: Situation, access: Access, prompt: string): Action[] {
  if (access === 'read') return [{ name: 'say', args: { text: `Reading for ${now.phase}.` } }];
  const path = `rehearsal/${now.ticket}.md`;
  const heading =
    prompt
      .trimStart()
      .split('\n', 1)[0]
      ?.replace(/^#+\s*/, '')
      .slice(0, 200) || now.ticket;
  const text = `# ${heading}\n\nRehearsed in phase ${now.phase}, visit ${now.visit}.\n`;
  return [
    { name: 'say', args: { text: `Rehearsing ${now.phase} of ${now.ticket}.` } },
    { name: 'write', args: { path, text } },
    { name: 'commit', args: { message: `Rehearse ${now.phase} of ${now.ticket}` } },
  ];
}
