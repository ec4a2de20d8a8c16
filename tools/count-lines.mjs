// Counts code lines (neither blank nor comment) and files of src/ per room.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const src = join(dirname(fileURLToPath(import.meta.url)), '..', 'src');
const rooms = new Map();
for (const file of readdirSync(src, { recursive: true }).filter((name) => /\.tsx?$/.test(name))) {
  const room = file.split(sep)[0];
  const { lines, files } = rooms.get(room) ?? { lines: 0, files: 0 };
  rooms.set(room, { lines: lines + codeLines(readFileSync(join(src, file), 'utf8')), files: files + 1 });
}
const rows = [...rooms].sort(([a], [b]) => a.localeCompare(b));
const total = rows.reduce(
  (sum, [, row]) => ({ lines: sum.lines + row.lines, files: sum.files + row.files }),
  { lines: 0, files: 0 },
);
for (const [room, { lines, files }] of [...rows, ['total', total]])
  console.log(`${room.padEnd(12)}${String(lines).padStart(7)} lines ${String(files).padStart(4)} files`);

/** A line counts unless it is blank or all of it is comment. */
function codeLines(text) {
  let inComment = false;
  let count = 0;
  for (const line of text.split('\n')) {
    const trimmed = line.trim();
    if (inComment) {
      inComment = !trimmed.includes('*/');
    } else if (trimmed.startsWith('/*')) {
      inComment = !trimmed.includes('*/');
    } else if (trimmed !== '' && !trimmed.startsWith('//')) count += 1;
  }
  return count;
}
