import type { Screen } from '../../src/report/live/live-view.ts';
import { cells } from '../../src/report/tables-and-text-wrapping.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal is about them
const PART = /\u001b\[(\??)(\d*)([A-Za-z])|[\r\n]|[^\u001b\r\n]/gu;

interface Row {
  text: string;
  /** The line goes on in the next row. */
  wrapped: boolean;
}

const blank = (): Row => ({ text: '', wrapped: false });

/**
 * As much of a terminal as the live view needs: wrapping, scrolling, cursor up, clear below. It changes its size as tmux
 * does, or as xterm does, which breaks no lines anew.
 */
export class Terminal implements Screen {
  readonly writes: string[] = [];
  readonly #kind: 'tmux' | 'xterm';
  #columns: number;
  #height: number;
  /** What the view knows of the size. */
  #told: { columns: number; height: number };
  #rows: Row[];
  /** Rows above are scrollback. */
  #top = 0;
  #row = 0;
  #column = 0;
  #wraps = true;

  constructor(columns: number, height: number, kind: 'tmux' | 'xterm' = 'tmux') {
    this.#columns = columns;
    this.#height = height;
    this.#kind = kind;
    this.#told = { columns, height };
    this.#rows = Array.from({ length: height }, blank);
  }

  columns = (): number => this.#told.columns;
  rows = (): number => this.#told.height;

  write(text: string): void {
    this.writes.push(text);
    for (const [part, own, number, command] of text.matchAll(PART)) {
      if (command !== undefined) this.#control(`${own}${own ? number : ''}${command}`, Number(number || 1));
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
    this.resizeUntold(columns, height);
    this.tell();
  }

  /** Programs hear of another size a while after it is so. */
  resizeUntold(columns: number, height: number): void {
    if (height < this.#height) this.#lower(this.#height - height);
    else this.#raise(height - this.#height);
    this.#height = height;
    if (columns === this.#columns) return;
    this.#columns = columns;
    if (this.#kind === 'tmux') this.#breakAnew();
    else for (const row of this.#rows) row.text = row.text.slice(0, columns);
  }

  tell(): void {
    this.#told = { columns: this.#columns, height: this.#height };
  }

  /** First rows below the cursor go, then those at the top become scrollback. */
  #lower(by: number): void {
    const below = Math.min(by, this.#rows.length - 1 - this.#row);
    this.#rows.length -= below;
    this.#top += by - below;
  }

  /** Scrollback comes back as far as there is any. */
  #raise(by: number): void {
    const back = Math.min(by, this.#top);
    this.#top -= back;
    for (let at = back; at < by; at++) this.#rows.push(blank());
  }

  #breakAnew(): void {
    const rows: Row[] = [];
    let line = '';
    let cursor = 0;
    let begin = 0;
    for (const [at, row] of this.#rows.entries()) {
      if (at === this.#row) cursor = line.length + this.#column;
      if (at <= this.#row && line === '') begin = rows.length;
      line += row.text;
      if (row.wrapped) continue;
      const pieces = line.match(new RegExp(`.{1,${this.#columns}}`, 'gu')) ?? [''];
      rows.push(...pieces.map((text, piece) => ({ text, wrapped: piece < pieces.length - 1 })));
      line = '';
    }
    while (rows.length < this.#height) rows.push(blank());
    this.#rows = rows;
    this.#top = rows.length - this.#height;
    const row = begin + Math.floor(cursor / this.#columns);
    this.#column = row < this.#top ? 0 : cursor % this.#columns;
    this.#row = Math.max(row, this.#top);
  }

  #control(command: string, number: number): void {
    if (command === 'A') this.#row = Math.max(this.#top, this.#row - number);
    else if (command === 'C') this.#column = Math.min(this.#columns - 1, this.#column + number);
    else if (command === 'K' && number === 2) this.#rows[this.#row] = blank();
    else if (command === 'J') {
      if (this.#row === this.#top && this.#column === 0)
        throw new Error('The whole screen goes to the scrollback.');
      this.#rows[this.#row] = { text: this.#text().slice(0, this.#column), wrapped: false };
      for (let at = this.#row + 1; at < this.#rows.length; at++) this.#rows[at] = blank();
    } else if (command === '?7l' || command === '?7h') this.#wraps = command === '?7h';
    else if (command !== 'm') throw new Error(`The terminal does not know ${command}.`);
  }

  #put(char: string): void {
    if (cells(this.#text().slice(0, this.#column) + char) > this.#columns) {
      if (this.#wraps) this.#feed(true);
      else this.#column = this.#columns - 1;
    }
    const text = this.#text().padEnd(this.#column);
    const after = text.slice(this.#column + char.length);
    this.#rows[this.#row] = { text: text.slice(0, this.#column) + char + after, wrapped: false };
    this.#column += char.length;
  }

  #feed(wrapped: boolean): void {
    const row = this.#rows[this.#row];
    if (row && wrapped) row.wrapped = true;
    this.#column = 0;
    if (this.#row === this.#rows.length - 1) {
      this.#rows.push(blank());
      this.#top++;
    }
    this.#row++;
  }

  #text(): string {
    return this.#rows[this.#row]?.text ?? '';
  }
}
