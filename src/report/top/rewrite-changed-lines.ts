import { width } from '../tables-and-text-wrapping.ts';

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
