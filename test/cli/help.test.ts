import type { Command } from 'commander';
import { describe, expect } from 'vitest';
import { createProgram } from '../../src/cli/build-command-parser.ts';
import { testIo } from '../support/io.ts';
import { errorIn, it } from './support.ts';

/** Commands with their full names. */
function walk(command: Command, name = ''): [string, Command][] {
  return command.commands.flatMap((each): [string, Command][] => {
    const full = `${name} ${each.name()}`.trim();
    return [[full, each], ...walk(each, full)];
  });
}

function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({
    writeOut: (more) => {
      text += more;
    },
  });
  command.outputHelp();
  return text;
}

const commands = new Map(walk(createProgram(testIo().io, '1.2.3', { quiet: false })));

describe.concurrent('help', () => {
  it('knows these commands', () => {
    expect([...commands.keys()]).toEqual(
      expect.arrayContaining([
        'init',
        'status',
        'run',
        'daemon',
        'daemon status',
        'daemon stop',
        'tick',
        'pause',
        'resume',
        'skip',
        'retry',
        'stop',
        'respond',
        'diff',
        'pause-plan',
        'resume-plan',
        'sessions',
        'resume-session',
        'logs',
        'plan list',
        'plan show',
        'plan check',
        'plan approve',
        'plan archive',
        'plan delete',
        'plan new',
        'plan add',
        'plan edit',
        'plan remove',
        'interactive',
        'import',
        'workflow list',
        'workflow show',
        'workflow check',
        'workflow graph',
        'workspace ensure',
        'workspace release',
        'integrate',
        'checks',
        'config',
        'config path',
        'config trust',
        'doctor',
        'completion',
      ]),
    );
  });

  it('describes every command and gives an example of it', () => {
    for (const [name, command] of commands) {
      expect(command.description(), name).not.toBe('');
      expect(helpOf(command), name).toMatch(new RegExp(`Examples:\\n(.*\\n)*?.*\\$.* ?signalbox ${name}\\b`));
    }
  });

  it('offers --json with every command that does something', () => {
    const alone = [...commands].filter(([, command]) => command.commands.length === 0);
    const without = alone.filter(([, command]) => !command.options.some(({ long }) => long === '--json'));
    expect(without.map(([name]) => name)).toEqual([]);
  });

  it('is printed on standard output', async ({ world }) => {
    const whole = await world.cli('--help');
    expect(whole).toMatchObject({ code: 0, err: '' });
    for (const name of ['run', 'daemon', 'resume-session', 'completion'])
      expect(whole.out).toContain(`  ${name} `);
    const one = await world.cli('run', '--help');
    expect(one).toMatchObject({ code: 0, err: '' });
    expect(one.out).toMatch(/Exit code 0 when .* complete, 1 when not, 130 after Ctrl-C\./);
  });

  it('goes to standard error, with exit code 2, when no command is named', async ({ world }) => {
    const { code, out, err } = await world.cli();
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('Usage: signalbox');
  });
});

describe.concurrent('a command line that cannot be understood', () => {
  const wrong: [string[], string][] = [
    [['statsu'], "unknown command 'statsu'"],
    [['pause', 'p'], "missing required argument 'ticket'"],
    [['status', '--paln', 'x'], "unknown option '--paln'"],
    [['respond', 'p', 'a'], "missing required argument 'decision'"],
    [['plan', 'aprove', 'p'], "unknown command 'aprove'"],
    [['pause', 'p', 'a', 'b'], 'too many arguments'],
  ];

  it('is refused with exit code 2 and the word that is wrong', async ({ world }) => {
    for (const [args, message] of wrong) {
      const { code, out, err } = await world.cli(...args);
      expect({ code, out }, args.join(' ')).toEqual({ code: 2, out: '' });
      expect(err).toContain(`error: ${message}`);
      expect(err).toContain('(signalbox --help shows the commands)');
    }
  });

  it('suggests what was probably meant', async ({ world }) => {
    expect((await world.cli('daemno')).err).toContain('Did you mean daemon?');
    expect((await world.cli('status', '--paln', 'x')).err).toContain('Did you mean --plan?');
  });

  it('is told as JSON when JSON was asked for', async ({ world }) => {
    const ended = await world.cli('status', '--palln', '--json');
    expect(ended.code).toBe(2);
    expect(errorIn(ended)).toMatchObject({ code: 'usage', message: expect.stringContaining('--palln') });
  });

  it('refuses a number that is none', async ({ world }) => {
    world.agent('agent', 'commit');
    for (const [command, number] of [
      ['run', '0'],
      ['run', '2.5'],
      ['daemon', '-1'],
      ['daemon', ''],
    ] as const) {
      const ended = await world.cli(command, `--concurrency=${number}`, ...(command === 'run' ? ['p'] : []));
      expect(ended, number).toMatchObject({ code: 2, out: '' });
      expect(ended.err).toContain(`Invalid --concurrency value: ${number}. Must be a positive integer.`);
    }
  });
});

describe.concurrent('--version', () => {
  it('prints the version alone', async ({ world }) => {
    const { default: manifest } = await import('../../package.json', { with: { type: 'json' } });
    for (const flag of ['--version', '-V'])
      expect(await world.start([flag]).ended).toMatchObject({
        code: 0,
        out: `${manifest.version}\n`,
        err: '',
      });
  });
});
