// Draws 40 files of src/ by a seed, to check that a path predicts its content: a reader who has seen only the paths and the
// glossary writes one sentence about each file, then compares it with the file. Usage: node tools/draw-files.mjs [seed] [count]
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const src = join(dirname(fileURLToPath(import.meta.url)), '..', 'src');
const [seed = '1', count = '40'] = process.argv.slice(2);
const files = readdirSync(src, { recursive: true })
  .filter((name) => /\.tsx?$/.test(name))
  .sort();
let state = Number(seed);
for (let index = files.length - 1; index > 0; index -= 1) {
  const other = next() % (index + 1);
  [files[index], files[other]] = [files[other], files[index]];
}
for (const file of files.slice(0, Number(count)).sort()) console.log(`src/${file}`);

/** A linear congruential generator: the same seed draws the same files everywhere. */
function next() {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state >>> 8;
}
