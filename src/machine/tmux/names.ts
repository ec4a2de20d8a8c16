import type { Env } from '../environment.ts';

const MAX_NAME = 80;

/** A session's name as tmux will have it: it turns dots and colons into "_", and everything that means something to it goes. */
export function sessionName(text: string, fallback = 'signalbox'): string {
  const name = text
    .normalize('NFC')
    .replace(/[.:]/g, '_')
    .replace(/[^\p{L}\p{N}_-]+/gu, '-')
    .replace(/^-+/, '');
  return [...name].slice(0, MAX_NAME).join('').replace(/-+$/, '') || fallback;
}

/** A note about a session name that tmux cannot use; undefined when it can. */
export function renamedText(wanted: string): string | undefined {
  const name = sessionName(wanted);
  return name === wanted
    ? undefined
    : `the session is called ${name}: tmux cannot have ${JSON.stringify(wanted)}`;
}

/** This session and no other: a bare name would also find one that only begins with it. */
export function exactly(session: string): string {
  return `=${session}:`;
}

export function windowName(ticketId: string): string {
  return `task-${ticketId}`;
}

/** Whether the user wants no tmux, and by which variable. */
export function tmuxOff(env: Env): boolean {
  return /^(1|true|yes|on)$/i.test(env.CODEAGENT_NO_TMUX?.trim() ?? '');
}

/** The server we are in is the one to use, so that its user can switch to our session. */
export function socketOf(env: Env): string | undefined {
  return env.TMUX?.replace(/(?:,[^,]*){2}$/, '') || undefined;
}

/** A word that tmux must not take apart: a last ";" would end the command. */
export function word(text: string): string {
  return text.endsWith(';') ? `${text.slice(0, -1)}\\;` : text;
}

/** A text where tmux would fill in formats; "#(…)" there would even be run. */
export function literal(text: string): string {
  return word(text.replaceAll('#', '##'));
}
