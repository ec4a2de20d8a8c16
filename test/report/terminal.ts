import type { Screen } from '../../src/report/live.ts';
import { cells } from '../../src/report/width.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal is about them
const PART = /\u001b\[(\d*)([A-Za-z])|[\r\n]|[^\u001b\r\n]/gu;

interface Row {
  text: string;
  /** The line goes on in the next row. */
  wrapped: boolean;
}

/** As much of a terminal as the live view needs: wrapping, scrolling, cursor up, clear below, breaking lines anew. */
export class Terminal implements Screen {
  readonly writes: string[] = [];
  #columns: number;
  #height: number;
  #rows: Row[] = [{ text: '', wrapped: false }];
  #row = 0;
  #column = 0;

  constructor(columns: number, height: number) {
    this.#columns = columns;
    this.#height = height;
  }

  columns = (): number => this.#columns;
  rows = (): number => this.#height;

  write(text: string): void {
    this.writes.push(text);
    for (const [part, number, command] of text.matchAll(PART)) {
      if (command !== undefined) this.#control(command, Number(number || 1));
      else if (part === '\r') this.#column = 0;
      else if (part === '\n') this.#feed(false);
      else this.#put(part);
    }
  }

  /** Scrollback and screen, without empty rows at the end. */
  get lines(): string[] {
    const lines = this.#rows.map((row) => row.text.trimEnd());
    while (lines.at(-1) === '') lines.pop();
    return lines;
  }

  /** Without the line breaks that are only due to the width. */
  get text(): string {
    return this.#rows
      .map((row) => (row.wrapped ? row.text : `${row.text}\n`))
      .join('')
      .trimEnd();
  }

  resize(columns: number, height: number): void {
    const logical: string[] = [];
    let open = false;
    for (const row of this.#rows.slice(0, -1)) {
      if (open) logical.push((logical.pop() ?? '') + row.text);
      else logical.push(row.text);
      open = row.wrapped;
    }
    this.#columns = columns;
    this.#height = height;
    this.#rows = logical.flatMap((line) => {
      const pieces = line.match(new RegExp(`.{1,${columns}}`, 'gu')) ?? [''];
      return pieces.map((text, at) => ({ text, wrapped: at < pieces.length - 1 }));
    });
    this.#rows.push({ text: '', wrapped: false });
    this.#row = this.#rows.length - 1;
    this.#column = 0;
  }

  #control(command: string, number: number): void {
    const top = Math.max(0, this.#rows.length - this.#height);
    if (command === 'A') this.#row = Math.max(top, this.#row - number);
    else if (command === 'K' && number === 2) this.#rows[this.#row] = { text: '', wrapped: false };
    else if (command === 'J') {
      if (this.#row === top && this.#column === 0)
        throw new Error('The whole screen goes to the scrollback.');
      this.#rows.length = this.#row + 1;
      this.#rows[this.#row] = { text: this.#text().slice(0, this.#column), wrapped: false };
    } else if (command !== 'm') throw new Error(`The terminal does not know ${command}.`);
  }

  #put(char: string): void {
    if (cells(this.#text().slice(0, this.#column) + char) > this.#columns) this.#feed(true);
    const text = this.#text().padEnd(this.#column);
    const after = text.slice(this.#column + char.length);
    this.#rows[this.#row] = { text: text.slice(0, this.#column) + char + after, wrapped: false };
    this.#column += char.length;
  }

  #feed(wrapped: boolean): void {
    const row = this.#rows[this.#row];
    if (row && wrapped) row.wrapped = true;
    this.#row++;
    this.#column = 0;
    this.#rows[this.#row] ??= { text: '', wrapped: false };
  }

  #text(): string {
    return this.#rows[this.#row]?.text ?? '';
  }
}
