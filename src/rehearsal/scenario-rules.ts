import type { Access } from '../model/agent-and-adapter-types.ts';
import type { ErrorClass, Json } from '../model/ticket.ts';
import type { SpentTokens } from './stdio.ts';

/** What each step of a scenario is given. */
export interface StepArgs {
  write: { path: string; text?: string; append?: string };
  commit: { message: string };
  say: { text: string };
  tool: { name: string; summary?: string; done?: boolean };
  wait: { seconds: number };
  run: { command: string };
  usage: SpentTokens;
  print: { bytes: number; oneLine?: boolean };
  result: { text?: string; data?: Json };
  limit: { seconds: number; message?: string };
  fail: { class: ErrorClass; message: string };
  crash: { signal?: NodeJS.Signals; code?: number };
  hang: { stubborn?: boolean };
}
export type StepName = keyof StepArgs;
export type Step = { [K in StepName]: { name: K; args: StepArgs[K] } }[StepName];

/** The first rule whose `when` holds decides what the agent does. */
export interface Rule {
  when: { ticket?: string; phase?: string; visit?: number; attempt?: number; resumed?: boolean };
  do: Step[];
}

/** Which attempt this is. */
export interface Situation {
  plan: string;
  ticket: string;
  phase: string;
  visit: number;
  attempt: number;
  resumed: boolean;
}

export function matchRule(rules: Rule[], now: Situation): Rule | undefined {
  return rules.find(
    ({ when }) =>
      matchGlob(when.ticket, now.ticket) &&
      matchGlob(when.phase, now.phase) &&
      (when.visit ?? now.visit) === now.visit &&
      (when.attempt ?? now.attempt) === now.attempt &&
      (when.resumed ?? now.resumed) === now.resumed,
  );
}

/** `*` matches any text and `?` one character. */
function matchGlob(glob: string | undefined, text: string): boolean {
  if (glob === undefined) return true;
  const pattern = glob
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${pattern}$`, 's').test(text);
}

/** What the agent does when no rule speaks of this attempt: a small commit where it may write, then its result. */
export function defaultSteps(now: Situation, access: Access, prompt: string): Step[] {
  if (access === 'read') return [{ name: 'say', args: { text: `Reading for ${now.phase}.` } }];
  const path = `rehearsal/${now.plan}/${now.ticket}.md`;
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
