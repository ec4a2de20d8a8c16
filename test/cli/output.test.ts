import { describe, expect } from 'vitest';
import { plainOptions } from '../../src/cli/commands/status.ts';
import { CliCall } from '../support/cli-call.ts';
import { CLI, it, setUp, shell } from './support.ts';

describe.concurrent('output', () => {
  it('ends quietly when nobody reads on', async ({ world }) => {
    const many = Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`t${index}`, {}]));
    setUp(world, 'commit', many);
    const { out, err, code } = await shell(world, '$SIGNALBOX status | head -n 1');
    expect({ out, err, code }).toEqual({ out: 'p\n', err: '', code: 0 });
  });

  it('breaks lists between words on a terminal', async ({ world }) => {
    const place = { cwd: world.repo, env: { ...world.env, NO_COLOR: '1' }, terminal: true, columns: 80 };
    for (const words of [['workflow', 'list'], ['workflow', 'show', 'local'], ['config']]) {
      const { out } = await new CliCall(words, place).ended;
      // A path or JSON may be longer than the terminal is wide.
      const wide = out.split('\n').filter((line) => line.length > 80 && /\S\s+\S/.test(line));
      expect(wide, words.join(' ')).toEqual([]);
    }
  });

  it('names an absolute home where HOME is empty', async ({ world }) => {
    const { out } = await shell(world, 'unset SIGNALBOX_HOME; HOME= $SIGNALBOX config path --json');
    expect(out).toMatch(/"\/[^"]*\.signalbox\/config\.yaml"/);
  });

  it('that cannot be written is one error, and a run goes on all the same', async ({ world }) => {
    setUp(world, 'commit');
    const status = await shell(world, '$SIGNALBOX status > /dev/full');
    expect(status.err).toMatch(/^❌ Standard output cannot be written: ENOSPC.*\n.*\n$/);
    expect(status.code).toBe(4);
    const run = await shell(world, '$SIGNALBOX run p > /dev/full');
    expect(run.err).toMatch(/^❌ Standard output cannot be written: ENOSPC.*\n.*\n$/);
    expect(run.code).toBe(4);
    expect(world.ticket('p', 'a').status).toBe('complete');
  });

  it('loses nothing when a pipe is full and refuses to block', async ({ world }) => {
    const many = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`t${index}`, {}]));
    setUp(world, 'commit', many);
    // A pipe's end is shared with whoever started the command, who may have it return at once when it is full.
    const reader = `const { constants, openSync } = require('node:fs');
      const { Socket } = require('node:net');
      const fifo = process.env.FIFO;
      const input = new Socket({ fd: openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK) });
      const fd = openSync(fifo, constants.O_WRONLY);
      const stdio = ['ignore', fd, 'inherit'];
      const command = [process.env.CLI, 'status', '--json'];
      const child = require('node:child_process').spawn(process.execPath, command, { stdio });
      const shared = new Socket({ fd, readable: false });
      child.on('exit', () => shared.destroy());
      let text = '';
      input.setEncoding('utf8').on('data', (part) => { text += part; });
      input.on('end', () => console.log(JSON.parse(text)[0].tickets.length));`;
    const { out, err } = await shell(world, 'mkfifo "$FIFO" && "$NODE" -e "$READER"', '/bin/sh', {
      NODE: process.execPath,
      READER: reader,
      FIFO: `${world.dir}/fifo`,
      CLI,
    });
    expect({ out, err }).toEqual({ out: '900\n', err: '' });
  });
});

describe('the options of a plain status', () => {
  it.each([
    { words: [], options: {} },
    { words: ['--json'], options: { json: true } },
    { words: ['--plan', 'p', '-C', 'x.yaml'], options: { plan: 'p', config: 'x.yaml' } },
    { words: ['-p', 'p', '--json'], options: { plan: 'p', json: true } },
    { words: ['--plan'], options: undefined },
    { words: ['--plan', '--json'], options: undefined },
    { words: ['--plan=p'], options: undefined },
    { words: ['--help'], options: undefined },
    { words: ['p'], options: undefined },
  ])('$words', ({ words, options }) => {
    expect(plainOptions(words)).toEqual(options);
  });
});

describe.concurrent('on a narrow terminal', () => {
  it('lines of lists and checks are broken between words, commands stay whole', async ({ world }) => {
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Do it.' }]);
    const title = 'Show the age of each answer beside its text';
    const error = 'the file src/answers.ts that the task speaks of does not exist';
    world.plan('night-of-long-names', { tickets: { a: { status: 'failed', title, error } } });
    const place = { cwd: world.repo, env: { ...world.env, NO_COLOR: '1' }, terminal: true, columns: 40 };
    for (const words of [
      'plan list',
      'plan show night-of-long-names',
      'plan check night-of-long-names',
      'clean',
    ]) {
      const { out } = await new CliCall(words.split(' '), place).ended;
      const wide = out.split('\n').filter((line) => line.length > 40 && !/signalbox|\/\S{20}/.test(line));
      expect({ words, wide }).toEqual({ words, wide: [] });
    }
  });
});
