import { width } from '../tables-and-text-wrapping.ts';

const ESC = '\u001b';
const PASTE_START = `${ESC}[200~`;
const PASTE_END = `${ESC}[201~`;
/** One key: a sequence of the terminal, or a character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals send keys this way
const KEY = /\u001b\[[0-9;]*[A-Za-z~]|\u001bO[A-Za-z]|./gsu;
/** A sequence whose rest has not come yet. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals send keys this way
const UNFINISHED = /\u001b(?:\[[0-9;]*|O)$/;
/** Lines that were pasted into a terminal which does not mark a paste. A line end behind one line is the key Enter. */
const LINES = /[\r\n][^\r\n]/;

/** Splits what a terminal sends into keys. A text that was pasted is one piece, so that it never is a row of commands. */
export class KeySplitter {
  #rest = '';

  split(chunk: string): string[] {
    const text = this.#rest + chunk;
    this.#rest = '';
    const at = text.indexOf(PASTE_START);
    if (at < 0) return this.#keys(text);
    const from = at + PASTE_START.length;
    const end = text.indexOf(PASTE_END, from);
    const before = this.#keys(text.slice(0, at));
    if (end < 0) {
      this.#rest = text.slice(at);
      return before;
    }
    const pasted = text.slice(from, end).replaceAll(ESC, '');
    return [...before, ...(pasted === '' ? [] : [pasted]), ...this.split(text.slice(end + PASTE_END.length))];
  }

  #keys(text: string): string[] {
    if (!text.includes(ESC) && LINES.test(text)) return [text];
    const [rest] = UNFINISHED.exec(text) ?? [''];
    this.#rest = rest;
    return text.slice(0, text.length - rest.length).match(KEY) ?? [];
  }
}

const ERASE_SCREEN = '\u001b[H\u001b[2J';
const ERASE_REST = '\u001b[K';

/** What is on the screen, so that only rows that differ are written. */
export class ChangedLines {
  #shown: readonly string[] = [];
  #isKnown = false;

  /** Something else has written there, or its size has changed. */
  forget(): void {
    this.#isKnown = false;
  }

  /** The text that makes the screen show these lines; empty if it does. */
  update(lines: readonly string[], columns: number): string {
    const before = this.#isKnown ? this.#shown : [];
    const changed = lines.flatMap((line, at) =>
      line === (before[at] ?? '') ? [] : [rowText(line, at + 1, columns)],
    );
    const erase = this.#isKnown ? '' : ERASE_SCREEN;
    this.#shown = [...lines];
    this.#isKnown = true;
    return erase + changed.join('');
  }
}

/** Behind the last column there is nothing to erase: terminals would take its character. */
function rowText(line: string, row: number, columns: number): string {
  return `\u001b[${row};1H${line}${width(line) < columns ? ERASE_REST : ''}`;
}
