// Answers the calls of `gh` in one process: starting node for each of them is what the tests would wait for most.
// Every line of the pipe names a call; the answer is written to its files and announced by its pipe.
import { constants, existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { answer } from './main.mjs';

const [, , pipe] = process.argv;
// It ends with the tests that started it, however those end, and takes its directory along.
process.stdin.resume().on('close', () => {
  rmSync(dirname(pipe), { recursive: true, force: true });
  process.exit();
});

// Open for writing, too: else the pipe would end with the first caller. A read that blocks would outlive the end.
const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
createInterface({ input: new Socket({ fd, readable: true, writable: false }) }).on('line', (call) => {
  const end = attempt(call);
  // Somebody may have ended the caller meanwhile, and one that hangs gets no answer at all.
  if (end.hang || !existsSync(`${call}.end`)) return;
  writeFileSync(`${call}.stdout`, end.stdout ?? '');
  writeFileSync(`${call}.stderr`, end.stderr ?? '');
  writeFileSync(`${call}.end`, `${end.exit ?? 0}\n`, { flag: 'r+' });
});

function attempt(call) {
  const read = (name) => readFileSync(`${call}.${name}`, 'utf8');
  try {
    const [file, cwd, ...argv] = read('call').split('\0').slice(0, -1);
    process.chdir(cwd);
    return answer({ file, argv, input: () => read('stdin') });
  } catch (error) {
    return { exit: 70, stderr: `${error.stack}\n` };
  }
}
