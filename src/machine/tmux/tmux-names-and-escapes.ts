const MAX_NAME = 80;

/** A session's name as tmux will have it: dots and colons become "_", and characters with a meaning in tmux are removed. */
export function sessionName(text: string): string {
  const name = text
    .normalize('NFC')
    .replace(/[.:]/g, '_')
    .replace(/[^\p{L}\p{N}_-]+/gu, '-')
    .replace(/^-+/, '');
  return [...name].slice(0, MAX_NAME).join('').replace(/-+$/, '') || 'signalbox';
}

/** A note about a session name that tmux cannot use; undefined when it can. */
export function renamedText(wanted: string): string | undefined {
  const name = sessionName(wanted);
  return name === wanted
    ? undefined
    : `the session is called ${name}: tmux cannot have ${JSON.stringify(wanted)}`;
}

/** A target for exactly this session: a plain name also matches sessions that begin with it. */
export function exactSession(session: string): string {
  return `=${session}:`;
}

export function windowName(ticketId: string): string {
  return `task-${ticketId}`;
}

/** Escapes a trailing ";", which would end the tmux command. */
export function tmuxWord(text: string): string {
  return text.endsWith(';') ? `${text.slice(0, -1)}\\;` : text;
}

/** Escapes tmux formats: "#(…)" would be run. */
export function literal(text: string): string {
  return tmuxWord(text.replaceAll('#', '##'));
}
