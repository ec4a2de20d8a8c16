// Checks the rules of the rooms and that all of src/ is used. `--write` prints the table of rooms into docs/architecture.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { roomProblems } from './room-problems.mjs';
import { BESIDE, ROOMS } from './rooms.mjs';
import { unusedCode } from './unused-code.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const write = process.argv.includes('--write');
const at = (dir) => join(root, dir);
const problems = [
  roomProblems(at('src')),
  unusedCode(at('src'), { users: ['bench', 'tools', 'page'].map(at), tests: [at('test')] }),
].flatMap((rules) => Object.values(rules).flat());
for (const problem of problems) console.error(problem);
let failed = problems.length > 0;
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
