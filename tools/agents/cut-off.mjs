// Judges a contract suite that ran out of time: node tools/agents/cut-off.mjs <file of progress.mjs>
// A test that failed or hung is a failure; a suite that did not get far enough is only told of.
import { existsSync, readFileSync } from 'node:fs';

/** No test of a program that works takes as long, on a slow machine either. */
const HUNG_SECONDS = 120;

const [file = ''] = process.argv.slice(2);
const now = Date.now();
const open = new Map();
const failed = [];
let ended = 0;
for (const line of existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []) {
  const { word, name, at } = JSON.parse(line);
  if (word === 'begun') open.set(name, at);
  else {
    open.delete(name);
    ended++;
    if (word === 'failed') failed.push(name);
  }
}
const cut = [...open].map(([name, at]) => ({ name, seconds: Math.round((now - at) / 1000) }));
const hung = cut.filter(({ seconds }) => seconds >= HUNG_SECONDS);
for (const name of failed) console.error(`FAILED: ${name}`);
for (const { name, seconds } of hung) console.error(`HUNG for ${seconds} s: ${name}`);
if (failed.length + hung.length > 0) process.exit(1);
for (const { name, seconds } of cut) console.log(`cut off after ${seconds} s: ${name}`);
console.log(
  ended + cut.length === 0
    ? 'SKIPPED: the real agent programs, which did not begin in time'
    : `SKIPPED: the rest of the tests with real agent programs, for want of time; ${ended} passed`,
);
