import { InputError } from '../errors.ts';

/** One shell word that means exactly this text. */
export function shellQuote(value: string): string {
  return `'${value.replaceAll("'", "'\\''")}'`;
}

/** The same for people to read: unquoted where a shell needs no quotes. */
export function shellWord(value: string): string {
  return /^[\w./@+:-][\w./@+:#-]*$/.test(value) ? value : shellQuote(value);
}

/** Words after which a shell parses the text a second time, which undoes the quotes. */
const REPARSED = /(?:^|[\s;&|(])(?:eval|(?:\S*\/)?(?:ba|da|z|k|a)?sh\s+(?:-\S+\s+)*-\w*c\w*)\s[^;&|\n]*$/;
/** Where the next word is a command. */
const COMMAND_WORD = /(?:^|[;&|(\n]|\b(?:then|do|else|env|exec|command|xargs|sudo))\s*$/;

type State = 'plain' | 'single' | 'double' | 'comment';

/**
 * Puts values into shell text so that none of them is run: `parts` alternates text and value. Values are quoted for
 * their place: between words, in "…" or in '…'. Where the shell's quoting rules are more difficult, the value is refused.
 */
export function composeCommand(parts: readonly string[]): string {
  let command = '';
  let state: State = 'plain';
  let refusal: string | undefined;
  for (const [index, part] of parts.entries()) {
    if (part.includes('\0')) throw refused('with a NUL character');
    if (index % 2 === 0) {
      const read: Reading = readShell(part, state, command);
      state = read.state;
      refusal ??= read.refusal;
      command += part;
    } else {
      const dangling = /(?:^|[^\\])(?:\\\\)*\\$/.test(command) && state !== 'single';
      if (dangling) throw refused('after a backslash');
      if (command.endsWith('$') && state !== 'single') throw refused('after "$"');
      if (state === 'comment') throw refused('in a comment');
      if (refusal) throw refused(refusal);
      if (REPARSED.test(command)) throw refused('that a shell reads a second time (eval, sh -c)');
      if (state === 'plain' && COMMAND_WORD.test(command)) throw refused('as the command itself');
      command +=
        state === 'plain'
          ? shellQuote(part)
          : state === 'double'
            ? `"${shellQuote(part)}"`
            : `'${shellQuote(part)}'`;
    }
  }
  return command;
}

interface Reading {
  state: State;
  /** Set after something that makes the state of quoting uncertain. */
  refusal?: string;
}

/** Follows quotes through shell text. `before` decides whether a "#" starts a word. */
function readShell(text: string, from: State, before: string): Reading {
  let state = from;
  for (let i = 0; i < text.length; i++) {
    const char = text[i] ?? '';
    const rest = text.slice(i, i + 80);
    if (state === 'comment') {
      if (char === '\n') state = 'plain';
    } else if (state === 'single') {
      if (char === "'") state = 'plain';
    } else if (char === '\\') {
      i++;
    } else if (char === '"') {
      state = state === 'double' ? 'plain' : 'double';
    } else if (char === '`') {
      return { state, refusal: 'after "`"' };
    } else if (rest.startsWith('${') && !/^\$\{[A-Za-z_][A-Za-z0-9_]*\}/.test(rest)) {
      return { state, refusal: 'after a parameter expansion with an operator' };
    } else if (state === 'double') {
      if (rest.startsWith('$(')) return { state, refusal: 'after "$(" in double quotes' };
    } else if (char === "'") {
      if ((text[i - 1] ?? before.at(-1)) === '$') return { state, refusal: "after $'" };
      state = 'single';
    } else if (rest.startsWith('((') || rest.startsWith('$[')) {
      return { state, refusal: 'after arithmetic' };
    } else if (rest.startsWith('<<') && !rest.startsWith('<<<')) {
      return { state, refusal: 'after "<<"' };
    } else if (rest.startsWith('<<<')) {
      i += 2;
    } else if (char === '[' && /[A-Za-z0-9_]/.test(text[i - 1] ?? before.at(-1) ?? '')) {
      return { state, refusal: 'after an array index' };
    } else if (char === '#' && /^$|[\s;&|()<>]/.test(text[i - 1] ?? before.at(-1) ?? '')) {
      state = 'comment';
    }
  }
  return { state };
}

function refused(where: string): InputError {
  return new InputError(
    'template/quoting',
    `A value ${where} cannot be quoted for the shell with certainty.`,
    { hint: 'Give it to a variable first, then use that: t={{ title }}; printf %s "$t".' },
  );
}
