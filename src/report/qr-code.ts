// A QR code of a short text (ISO/IEC 18004): bytes, error correction level L, versions 1 to 9.

interface Version {
  /** Bytes of data, in all blocks together. */
  data: number;
  /** Bytes of error correction in each block. */
  correction: number;
  blocks: number;
  /** Centres of the alignment patterns. */
  centres: number[];
}

const VERSIONS: Version[] = [
  { data: 19, correction: 7, blocks: 1, centres: [] },
  { data: 34, correction: 10, blocks: 1, centres: [6, 18] },
  { data: 55, correction: 15, blocks: 1, centres: [6, 22] },
  { data: 80, correction: 20, blocks: 1, centres: [6, 26] },
  { data: 108, correction: 26, blocks: 1, centres: [6, 30] },
  { data: 136, correction: 18, blocks: 2, centres: [6, 34] },
  { data: 156, correction: 20, blocks: 2, centres: [6, 22, 38] },
  { data: 194, correction: 24, blocks: 2, centres: [6, 24, 42] },
  { data: 232, correction: 30, blocks: 2, centres: [6, 26, 46] },
];

const BYTE_MODE = 4;
const LEVEL_L = 1;
/** Bytes that fill what the text leaves free. */
const PADS = [0xec, 0x11];

/** Rows of modules, true for dark ones; undefined if the text is longer than 230 bytes. */
export function qrCode(text: string): boolean[][] | undefined {
  const bytes = [...Buffer.from(text, 'utf8')];
  const number = VERSIONS.findIndex(({ data }) => bytes.length + 2 <= data) + 1;
  const version = VERSIONS[number - 1];
  if (!version) return undefined;
  const codewords = interleaved(dataOf(bytes, version), version);
  const candidates = MASKS.map((_, mask) => new Square(number, version).fill(codewords, mask).modules);
  return candidates.reduce((best, each) => (penalty(each) < penalty(best) ? each : best));
}

/** The code as text, two rows of modules in a line, for a terminal with a dark background. */
export function qrLines(text: string): string[] | undefined {
  const modules = qrCode(text);
  if (!modules) return undefined;
  const margin = 2;
  const isLight = (x: number, y: number) => modules[y - margin]?.[x - margin] !== true;
  const size = modules.length + margin * 2;
  return Array.from({ length: Math.ceil(size / 2) }, (_, line) =>
    Array.from({ length: size }, (_, x) => {
      const [upper, lower] = [isLight(x, line * 2), isLight(x, line * 2 + 1)];
      return upper && lower ? '█' : upper ? '▀' : lower ? '▄' : ' ';
    }).join(''),
  );
}

/** Mode, length, the bytes, and what fills the rest. */
function dataOf(bytes: readonly number[], { data }: Version): number[] {
  const bits = [
    ...bitsOf(BYTE_MODE, 4),
    ...bitsOf(bytes.length, 8),
    ...bytes.flatMap((byte) => bitsOf(byte, 8)),
  ];
  bits.push(...bitsOf(0, Math.min(4, data * 8 - bits.length)));
  while (bits.length % 8 > 0) bits.push(0);
  const words: number[] = [];
  for (let at = 0; at < bits.length; at += 8)
    words.push(bits.slice(at, at + 8).reduce((sum, bit) => sum * 2 + bit, 0));
  for (let at = 0; words.length < data; at++) words.push(PADS[at % 2] ?? 0);
  return words;
}

const bitsOf = (value: number, count: number) =>
  Array.from({ length: count }, (_, at) => (value >> (count - 1 - at)) & 1);

/** Blocks of data and their corrections, one byte of each in turn. All blocks of these versions have one length. */
function interleaved(data: readonly number[], { correction, blocks }: Version): number[] {
  const length = data.length / blocks;
  const parts = Array.from({ length: blocks }, (_, at) => data.slice(at * length, (at + 1) * length));
  const corrections = parts.map((part) => correctionOf(part, correction));
  return [
    ...Array.from({ length }, (_, at) => parts.map((part) => part[at] ?? 0)).flat(),
    ...Array.from({ length: correction }, (_, at) => corrections.map((part) => part[at] ?? 0)).flat(),
  ];
}

/** Multiplies in the field of 256 elements with the polynomial 0x11d. */
function multiply(a: number, b: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ ((product >> 7) * 0x11d);
    product ^= ((b >> bit) & 1) * a;
  }
  return product;
}

/** The remainder of the data, by Reed and Solomon. */
function correctionOf(data: readonly number[], count: number): number[] {
  const divisor: number[] = [...Array.from({ length: count - 1 }, () => 0), 1];
  let root = 1;
  for (let step = 0; step < count; step++) {
    for (let at = 0; at < count; at++)
      divisor[at] = multiply(divisor[at] ?? 0, root) ^ (at + 1 < count ? (divisor[at + 1] ?? 0) : 0);
    root = multiply(root, 2);
  }
  const rest: number[] = Array.from({ length: count }, () => 0);
  for (const byte of data) {
    const factor = byte ^ (rest.shift() ?? 0);
    rest.push(0);
    for (let at = 0; at < count; at++) rest[at] = (rest[at] ?? 0) ^ multiply(divisor[at] ?? 0, factor);
  }
  return rest;
}

const MASKS: ((x: number, y: number) => number)[] = [
  (x, y) => (x + y) % 2,
  (_, y) => y % 2,
  (x) => x % 3,
  (x, y) => (x + y) % 3,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2,
  (x, y) => ((x * y) % 2) + ((x * y) % 3),
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2,
];

/** A square of modules that is being filled. */
class Square {
  readonly modules: boolean[][];
  readonly #fixed: boolean[][];
  readonly #number: number;
  readonly #size: number;

  constructor(number: number, { centres }: Version) {
    this.#number = number;
    this.#size = number * 4 + 17;
    const square = () =>
      Array.from({ length: this.#size }, () => Array.from({ length: this.#size }, () => false));
    [this.modules, this.#fixed] = [square(), square()];
    for (let at = 0; at < this.#size; at++) {
      this.#fix(6, at, at % 2 === 0);
      this.#fix(at, 6, at % 2 === 0);
    }
    for (const [x, y] of [
      [3, 3],
      [this.#size - 4, 3],
      [3, this.#size - 4],
    ] as const)
      this.#square(x, y, 4, (ring) => ring !== 2 && ring !== 4);
    const last = centres.at(-1) ?? 0;
    for (const x of centres)
      for (const y of centres) {
        const isFinder = (x === 6 && (y === 6 || y === last)) || (x === last && y === 6);
        if (!isFinder) this.#square(x, y, 2, (ring) => ring !== 1);
      }
  }

  fill(codewords: readonly number[], mask: number): this {
    this.#writeFormat(mask);
    this.#writeVersion();
    const bits = codewords.flatMap((word) => bitsOf(word, 8));
    const isMasked = MASKS[mask] ?? (() => 1);
    let next = 0;
    for (let right = this.#size - 1; right >= 1; right -= 2) {
      // The column of the timing pattern is left out.
      if (right === 6) right = 5;
      const isUp = ((right + 1) & 2) === 0;
      for (let step = 0; step < this.#size; step++)
        for (const x of [right, right - 1]) {
          const y = isUp ? this.#size - 1 - step : step;
          if (this.#fixed[y]?.[x]) continue;
          const bit = (bits[next++] ?? 0) === 1;
          this.#set(x, y, bit !== (isMasked(x, y) === 0));
        }
    }
    return this;
  }

  #set(x: number, y: number, isDark: boolean): void {
    const row = this.modules[y];
    if (row && x >= 0 && x < this.#size) row[x] = isDark;
  }

  #fix(x: number, y: number, isDark: boolean): void {
    this.#set(x, y, isDark);
    const row = this.#fixed[y];
    if (row && x >= 0 && x < this.#size) row[x] = true;
  }

  #square(x: number, y: number, radius: number, isDark: (ring: number) => boolean): void {
    for (let dy = -radius; dy <= radius; dy++)
      for (let dx = -radius; dx <= radius; dx++)
        this.#fix(x + dx, y + dy, isDark(Math.max(Math.abs(dx), Math.abs(dy))));
  }

  /** Level and mask with their correction, beside the finders, twice. */
  #writeFormat(mask: number): void {
    const value = (LEVEL_L << 3) | mask;
    const bits = ((value << 10) | remainder(value, 10, 0x537)) ^ 0x5412;
    const bit = (at: number) => ((bits >> at) & 1) === 1;
    const far = this.#size - 1;
    for (let at = 0; at <= 5; at++) this.#fix(8, at, bit(at));
    this.#fix(8, 7, bit(6));
    this.#fix(8, 8, bit(7));
    this.#fix(7, 8, bit(8));
    for (let at = 9; at < 15; at++) this.#fix(14 - at, 8, bit(at));
    for (let at = 0; at < 8; at++) this.#fix(far - at, 8, bit(at));
    for (let at = 8; at < 15; at++) this.#fix(8, far - 14 + at, bit(at));
    this.#fix(8, far - 7, true);
  }

  #writeVersion(): void {
    if (this.#number < 7) return;
    const bits = (this.#number << 12) | remainder(this.#number, 12, 0x1f25);
    for (let at = 0; at < 18; at++) {
      const isDark = ((bits >> at) & 1) === 1;
      const [a, b] = [this.#size - 11 + (at % 3), Math.floor(at / 3)];
      this.#fix(a, b, isDark);
      this.#fix(b, a, isDark);
    }
  }
}

function remainder(value: number, bits: number, polynomial: number): number {
  let rest = value;
  for (let at = 0; at < bits; at++) rest = (rest << 1) ^ ((rest >> (bits - 1)) * polynomial);
  return rest;
}

/** How hard a code is to read: long runs, squares, what looks like a finder, and much more of one colour. */
function penalty(modules: readonly boolean[][]): number {
  const size = modules.length;
  const columns = modules.map((_, x) => modules.map((row) => row[x] === true));
  let sum = 0;
  for (const line of [...modules, ...columns]) {
    const text = line.map((dark) => (dark ? '1' : '0')).join('');
    for (const [run] of text.matchAll(/1{5,}|0{5,}/g)) sum += run.length - 2;
    sum += (text.match(/(?=10111010000|00001011101)/g)?.length ?? 0) * 40;
  }
  let dark = 0;
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) {
      const here = modules[y]?.[x];
      dark += here ? 1 : 0;
      if (x + 1 < size && y + 1 < size)
        if (modules[y]?.[x + 1] === here && modules[y + 1]?.[x] === here && modules[y + 1]?.[x + 1] === here)
          sum += 3;
    }
  return sum + Math.floor(Math.abs((dark / size / size) * 100 - 50) / 5) * 10;
}
