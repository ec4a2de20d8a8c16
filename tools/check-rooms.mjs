// Checks the rules of the rooms. A rule that the code does not keep everywhere yet has a ceiling in tools/ceilings.json, which may
// only fall. `--all` shows every problem; `--write` lowers the ceilings and prints the table of rooms into docs/architecture.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { roomProblems } from './room-problems.mjs';
import { BESIDE, ROOMS } from './rooms.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const write = process.argv.includes('--write');
const ceilingsFile = join(root, 'tools', 'ceilings.json');
const ceilings = JSON.parse(readFileSync(ceilingsFile, 'utf8'));
let failed = false;
for (const [rule, problems] of Object.entries(roomProblems(join(root, 'src')))) {
  const ceiling = ceilings[rule] ?? 0;
  if (problems.length > ceiling || process.argv.includes('--all'))
    for (const problem of problems) console.error(problem);
  if (problems.length > ceiling) {
    console.error(`${rule}: ${problems.length} problems, at most ${ceiling} allowed.`);
    failed = true;
  }
  if (write && problems.length < ceiling) ceilings[rule] = problems.length;
}
if (write) writeFileSync(ceilingsFile, `${JSON.stringify(ceilings, null, 2)}\n`);
printTable();
process.exit(failed ? 1 : 0);

function printTable() {
  const file = join(root, 'docs', 'architecture.md');
  const rows = [...ROOMS, ...Object.entries(BESIDE).map(([name, { holds }]) => [name, holds])];
  const table = [
    '| Room | Holds |',
    '|---|---|',
    ...rows.map(([name, holds]) => `| \`src/${name}/\` | ${holds} |`),
  ];
  const text = readFileSync(file, 'utf8');
  const next = text.replace(
    /(<!-- rooms -->\n)[\s\S]*?(<!-- end -->)/,
    (_, begin, end) => `${begin}${table.join('\n')}\n${end}`,
  );
  if (next === text) return;
  if (write) return writeFileSync(file, next);
  console.error(
    'docs/architecture.md does not print tools/rooms.mjs. Run `node tools/check-rooms.mjs --write`.',
  );
  failed = true;
}
