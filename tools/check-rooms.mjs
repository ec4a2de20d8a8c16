// Imports point downwards only: a room may use itself and the rooms below it.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOMS = [
  'cli',
  'api',
  'report',
  'engine',
  'phases',
  'agents',
  'jobs',
  'workspaces',
  'forge',
  'sources',
  'content',
  'store',
  'config',
  'model',
];
/** The rehearsal agent is a program of its own beside the engine. */
const BESIDE = { rehearsal: ['model', 'rehearsal'] };
/** The library may take the process's own as what a parameter is when the caller says nothing, and nowhere else. */
const PRESETS = /(?<=[{,(]\s*)(?:cwd = process\.cwd\(\)|env = process\.env)(?=\s*[,}])/g;
/** The text of a program that another process runs. */
const FOREIGN = [join('agents', 'pi-extension.ts')];
const src = join(dirname(fileURLToPath(import.meta.url)), '..', 'src');

const problems = [];
for (const file of readdirSync(src, { recursive: true }).filter((name) => name.endsWith('.ts'))) {
  const from = file.split(sep)[0];
  const text = readFileSync(join(src, file), 'utf8');
  for (const [, target] of text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
    const to = relative(src, resolve(dirname(join(src, file)), target)).split(sep)[0];
    if (!mayUse(from, to)) problems.push(`src/${file}: ${from} must not import from ${to}`);
  }
  const own = from === 'api' ? text.replace(PRESETS, '') : text;
  const ours = from !== 'cli' && from !== 'rehearsal' && !FOREIGN.includes(file);
  if (ours && /process\.(exit\(|stdout|stderr|env\b|cwd\()/.test(own)) {
    problems.push(`src/${file}: only src/cli touches the process`);
  }
}
for (const problem of problems) console.error(problem);
process.exit(problems.length > 0 ? 1 : 0);

function mayUse(from, to) {
  if (BESIDE[from]) return BESIDE[from].includes(to);
  return ROOMS.indexOf(from) >= 0 && ROOMS.indexOf(to) >= ROOMS.indexOf(from);
}
