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

const commands = new Map(walk(createProgram(testIo().io, '1.2.3')));

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
      expect(whole.out).toContain(`\n  ${name} `);
    expect(whole.out.match(/^\w[\w ]*:$/gm)).toEqual(
      ['Examples', 'Options', 'Start', 'Run', 'Look', 'Decide', 'Plan', 'Set up'].map((name) => `${name}:`),
    );
    const one = await world.cli('run', '--help');
    expect(one).toMatchObject({ code: 0, err: '' });
    expect(one.out.replace(/\s+/g, ' ')).toMatch(
      /Exit code 0 when .* complete, 1 when not, 130 after Ctrl-C\./,
    );
    expect(await world.cli('help', 'run')).toEqual(one);
  });

  it('names steps of workflows and scripts only with --all', async ({ world }) => {
    const steps = /^ {2}(integrate|tick|workspace) /m;
    expect((await world.cli('help')).out).not.toMatch(steps);
    expect((await world.cli('help', '--all')).out).toMatch(steps);
    const all = (await world.cli('help', '--all')).out;
    for (const name of [...commands.keys()].filter((each) => !each.includes(' ')))
      expect(all).toContain(`\n  ${name} `);
  });

  it('fits 80 columns and shows each example on one line, before the options', () => {
    const wrong = [...commands.values()].flatMap((command) => {
      const lines = helpOf(command).split('\n');
      const from = lines.indexOf('Examples:') + 1;
      const examples = lines.slice(from, lines.indexOf('', from));
      const wrapped = examples.filter((line) => !line.startsWith('  $ '));
      return [...wrapped, ...lines.filter((line) => line.length > 80)];
    });
    expect(wrong).toEqual([]);
  });

  it('goes to standard error, with exit code 2, when no command is named', async ({ world }) => {
    const { code, out, err } = await world.cli();
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('Usage: signalbox');
  });
});

describe.concurrent('a command line that cannot be understood', () => {
  const wrong: [string[], string][] = [
    [['statsu'], 'Unknown command "statsu".\n   Did you mean: signalbox status\n   Help: signalbox --help'],
    [
      ['pause'],
      'Name a ticket, or a plan and a ticket.\n   To see them: signalbox status\n   Help: signalbox pause --help',
    ],
    [['plan', 'edit'], 'Missing required argument "plan".\n   Help: signalbox plan edit --help'],
    [
      ['run', '--backend', 'rehearsal'],
      'Unknown option "--backend".\n   Did you mean: --agent\n   Help: signalbox run --help',
    ],
    [
      ['status', '--paln', 'x'],
      'Unknown option "--paln".\n   Did you mean: --plan\n   Help: signalbox status --help',
    ],
    [
      ['run', '--resume'],
      'Unknown option "--resume".\n   Did you mean: signalbox resume\n   Help: signalbox run --help',
    ],
    [
      ['plan', 'aprove', 'p'],
      'Unknown command "aprove".\n   Did you mean: signalbox plan approve\n   Help: signalbox plan --help',
    ],
    [
      ['config', 'trsut'],
      'Unknown command "trsut".\n   Did you mean: signalbox config trust\n   Help: signalbox config --help',
    ],
    [['daemon', 'nonsense'], 'Unknown command "nonsense".\n   Help: signalbox daemon --help'],
    [
      ['pause', 'p', 'a', 'b'],
      'Too many arguments for "pause". Expected 2 arguments but got 3.\n   Help: signalbox pause --help',
    ],
    [['nonsense', '--help'], 'Unknown command "nonsense".\n   Help: signalbox --help'],
    [['help', 'plan', 'nonsense'], 'Unknown command "nonsense".\n   Help: signalbox plan --help'],
    [['-C', 'x.yaml', 'nonsense', '-h'], 'Unknown command "nonsense".\n   Help: signalbox --help'],
  ];

  it('is refused with exit code 2, what was probably meant and where the help is', async ({ world }) => {
    for (const [args, message] of wrong)
      expect(await world.cli(...args), args.join(' ')).toMatchObject({
        code: 2,
        out: '',
        err: `❌ ${message}\n`,
      });
  });

  it('is reported as JSON when JSON was asked for', async ({ world }) => {
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
