import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readJob } from '../../../src/machine/jobs/start-and-read-job.ts';
import { waitFor } from '../../support/wait-for.ts';
import { Bench, escapee, isRunning } from './bench.ts';

describe('how a job ends', () => {
  it.each<[string, string, { code: number | null; signal: string | null }]>([
    ['success', 'true', { code: 0, signal: null }],
    ['a code', 'exit 7', { code: 7, signal: null }],
    ['a high code', 'exit 255', { code: 255, signal: null }],
    ['a signal', 'kill -KILL $$', { code: 137, signal: 'SIGKILL' }],
    ['another signal', 'ulimit -c 0; kill -SEGV $$', { code: 139, signal: 'SIGSEGV' }],
    ['a signal that the supervisor lives through', 'kill -TERM $$', { code: 143, signal: 'SIGTERM' }],
  ])('%s', async (_name, script, exit) => {
    const job = new Bench().sh(script);
    const result = await job.follow();
    expect(result).toMatchObject({ reason: 'exited', exit });
    expect(result.ms).toBeGreaterThanOrEqual(0);
    expect(readJob(job.dir)).toMatchObject({ state: 'ended', reason: 'exited', exit });
  });

  it.each<[string, string[], number, RegExp]>([
    ['a program that does not exist', ['no-such-program-here'], 127, /not found/],
    ['a word of the shell', ['exit', '0'], 127, /not found/],
  ])('%s', async (_name, argv, code, why) => {
    const result = await new Bench().start(argv).follow();
    expect(result).toMatchObject({ reason: 'exited', exit: { code, signal: null } });
    expect(result.stderrTail).toMatch(why);
  });

  it('a file that cannot be executed', async () => {
    const job = new Bench();
    const file = join(job.home, 'script.sh');
    writeFileSync(file, 'echo x', { mode: 0o644 });
    const result = await job.start([file]).follow();
    expect(result).toMatchObject({ reason: 'exited', exit: { code: 126, signal: null }, stdoutTail: '' });
    expect(result.stderrTail).toMatch(/[Pp]ermission denied/);
  });

  it('a working directory that does not exist: 126, and it says so', async () => {
    const job = new Bench();
    const cwd = join(job.home, 'gone');
    const result = await job.start(['true'], { cwd }).follow();
    expect(result).toMatchObject({ reason: 'exited', exit: { code: 126, signal: null } });
    expect(result.stderrTail).toBe(`cannot start: the directory ${cwd} does not exist\n`);
    expect(readJob(job.dir)).toMatchObject({ state: 'ended', exit: { code: 126 } });
  });
});

describe('what goes in', () => {
  it('standard input, intact', async () => {
    const line = 'He said "it\'s $HOME \\n `x`" — ünï 😀 %s\n\ttab\r\n';
    const stdin = line.repeat(Math.ceil((200 * 1024) / line.length));
    const job = new Bench().sh('cat; printf end >&2', { stdin });
    const result = await job.follow();
    expect(result.stderrTail).toBe('end');
    expect(job.read('stdout') === stdin).toBe(true);
    expect(job.read('prompt.md') === stdin).toBe(true);
  });

  it('an empty standard input when there is none', async () => {
    expect(await new Bench().sh('cat; echo end').follow()).toMatchObject({ stdoutTail: 'end\n' });
  });

  it('arguments, as they are', async () => {
    const words = [
      '',
      ' ',
      'a b',
      '"\'',
      '$HOME `id` $(id)',
      '*',
      '-n',
      '--',
      'a\nb\n',
      '\\',
      'ünï 😀',
      '%s%n',
    ];
    const code = 'process.stdout.write(JSON.stringify(process.argv.slice(1)))';
    const result = await new Bench().start([process.execPath, '-e', code, '--', ...words]).follow();
    expect(JSON.parse(result.stdoutTail)).toEqual(words);
  });

  it('the environment that was given, the job’s marker, and nothing of ours', async () => {
    process.env.SIGNALBOX_TEST_LEAK = 'leaked';
    onTestFinished(() => void delete process.env.SIGNALBOX_TEST_LEAK);
    const job = new Bench();
    const result = await job
      .sh('env', { env: { PATH: process.env.PATH ?? '', SECRET: 'hidden\nvalue' } })
      .follow();
    expect(result.stdoutTail).toContain(`SIGNALBOX_JOB=${job.dir}\n`);
    expect(result.stdoutTail).toContain('SECRET=hidden\nvalue\n');
    expect(result.stdoutTail).not.toContain('leaked');
    const command = JSON.parse(job.read('command.json')) as unknown;
    expect(command).toMatchObject({ env: ['PATH', 'SECRET'], marker: job.dir, cwd: job.home });
    expect(job.read('command.json')).not.toContain('hidden');
  });

  it('files for the command to read', async () => {
    const job = new Bench();
    const result = await job
      .sh(`cat '${job.dir}/schema.json'`, { files: { 'schema.json': '{"a":1}' } })
      .follow();
    expect(result.stdoutTail).toBe('{"a":1}');
  });
});

describe('what comes out', () => {
  it('every byte of standard output, in order, once', async () => {
    const chunks: Buffer[] = [];
    const job = new Bench().sh('i=0; while [ $i -lt 20000 ]; do echo "line $i 😀"; i=$((i+1)); done');
    const result = await job.follow({ onOutput: (chunk) => chunks.push(Buffer.from(chunk)) });
    const text = Buffer.concat(chunks).toString();
    expect(text === job.read('stdout')).toBe(true);
    expect(text.split('\n').at(-2)).toBe('line 19999 😀');
    expect(result.stdoutTail.endsWith('line 19999 😀\n')).toBe(true);
  });

  it('the last 16 KB of both streams, never half a character', async () => {
    const twice = 'i=0; while [ $i -lt 4000 ]; do printf "😀%.0s" 1 2 3; i=$((i+1)); done; echo';
    const result = await new Bench().sh(`${twice} x; { ${twice} err; } >&2`).follow();
    for (const tail of [result.stdoutTail, result.stderrTail]) {
      expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(16 * 1024);
      expect(tail.length).toBeGreaterThan(1000);
      expect(tail).not.toContain('\uFFFD');
    }
    expect(result.stderrTail.endsWith(' err\n') || result.stderrTail.endsWith('err\n')).toBe(true);
  });

  it('while it runs, not only at the end', async () => {
    const job = new Bench();
    const go = join(job.home, 'go');
    job.sh(`echo first; while [ ! -e '${go}' ]; do sleep 0.02; done; echo second`);
    let text = '';
    const end = job.follow({
      onOutput: (chunk) => {
        text += chunk.toString();
      },
    });
    await waitFor('the first line', () => text === 'first\n');
    writeFileSync(go, '');
    await end;
    expect(text).toBe('first\nsecond\n');
  });
});

describe('the files of a job', () => {
  it('can be read by their owner alone, whatever the umask, and the command keeps its own', async () => {
    const before = process.umask(0o022);
    onTestFinished(() => void process.umask(before));
    const job = new Bench();
    await job.sh('echo out; echo err >&2; touch made', { stdin: 'p', files: { f: 'x' } }).follow();
    const modes = readdirSync(job.dir).map((name) => [name, statSync(join(job.dir, name)).mode & 0o777]);
    const names = ['command.json', 'exit.json', 'f', 'pid', 'prompt.md', 'stderr', 'stdout'];
    expect(modes).toEqual(names.map((name) => [name, 0o600]));
    expect(statSync(job.dir).mode & 0o777).toBe(0o700);
    expect(statSync(join(job.home, 'made')).mode & 0o777).toBe(0o644);
  });

  it('of an earlier job in the same directory are gone', async () => {
    const job = new Bench();
    mkdirSync(join(job.dir, 'sub'), { recursive: true });
    writeFileSync(join(job.dir, 'exit.json'), '{"code":0}\n');
    writeFileSync(join(job.dir, 'stop.json'), '{"reason":"timeout"}');
    const result = await job.sh('exit 3').follow();
    expect(result).toMatchObject({ reason: 'exited', exit: { code: 3 } });
    expect(existsSync(join(job.dir, 'sub'))).toBe(false);
  });

  it('say nothing when they are half written', () => {
    const job = new Bench();
    expect(readJob(job.dir)).toEqual({ state: 'none' });
    mkdirSync(job.dir);
    writeFileSync(join(job.dir, 'command.json'), '{"host":');
    expect(readJob(job.dir)).toEqual({ state: 'none' });
    writeFileSync(join(job.dir, 'command.json'), JSON.stringify({ host: 'elsewhere', boot: '' }));
    expect(readJob(job.dir)).toMatchObject({ state: 'lost' });
    writeFileSync(join(job.dir, 'pid'), '12');
    expect(readJob(job.dir)).toMatchObject({ state: 'lost' });
    for (const half of ['', '{', '{"code":0', '{"code":0}']) {
      writeFileSync(join(job.dir, 'exit.json'), half);
      expect(readJob(job.dir)).toMatchObject({ state: 'lost' });
    }
    writeFileSync(join(job.dir, 'exit.json'), '{"code":0}\n');
    expect(readJob(job.dir)).toMatchObject({ state: 'ended', exit: { code: 0 }, reason: 'exited' });
  });
});

describe('what a command leaves running', () => {
  it('is cleared when the command has ended by itself, also in sessions of its own', {
    tags: 'full',
  }, async () => {
    const job = new Bench().sh(`sleep 1000 & echo "tool $!"; ${escapee()}`);
    const result = await job.follow();
    expect(result).toMatchObject({ reason: 'exited', exit: { code: 0 } });
    const tools = [...result.stdoutTail.matchAll(/tool (\d+)/g)].map((match) => Number(match[1]));
    expect(tools).toHaveLength(2);
    for (const pid of tools) await waitFor(`the end of ${pid}`, () => !isRunning(pid));
    expect(await job.left()).toEqual([]);
  });

  it('does not include processes of other jobs', async () => {
    const other = new Bench('build.1.10').sh('echo up; sleep 1000');
    await other.prints('up');
    const job = new Bench('build.1.1').sh('true');
    await job.follow();
    expect(readJob(other.dir).state).toBe('running');
    expect(readFileSync(join(other.dir, 'stdout'), 'utf8')).toBe('up\n');
  });
});
