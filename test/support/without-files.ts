import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

/** Does something while this process can open no file. On Linux only; other tests must not run in it meanwhile. */
export async function withoutFiles<T>(work: () => Promise<T>): Promise<T> {
  // This process could not start a program to get its limit back.
  const loop = 'while read -r files; do prlimit --pid $PPID --nofile=$files: && echo; done';
  const helper = spawn('/bin/sh', ['-c', loop], { stdio: ['pipe', 'pipe', 'inherit'] });
  const limit = async (files: string) => {
    helper.stdin.write(`${files}\n`);
    await once(helper.stdout, 'data');
  };
  const [, before = ''] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
  await limit('0');
  try {
    return await work();
  } finally {
    await limit(before);
    helper.stdin.end();
    await once(helper, 'close');
  }
}
