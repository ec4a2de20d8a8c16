// One call in a process of its own.
import { readFileSync } from 'node:fs';
import { answer } from './main.mjs';

const file = process.env.GH_FAKE_FILE;
if (!file) throw new Error('GH_FAKE_FILE is not set');
const end = answer({ file, argv: process.argv.slice(2), input: () => readFileSync(0, 'utf8') });
// Until somebody ends this process.
if (end.hang) setInterval(() => undefined, 60_000);
else {
  process.stdout.write(end.stdout ?? '');
  process.stderr.write(end.stderr ?? '');
  process.exitCode = end.exit ?? 0;
}
