import { Command, Option } from 'commander';
import { describe, expect, it } from 'vitest';
import { RUN_SETTINGS, runFlags } from '../../src/config/run-flags.ts';
import { RUN_ONLY } from '../../src/config/run-settings-table.ts';

/** The flags as a command has them. */
function command(): Command {
  const program = new Command().exitOverride();
  for (const { flags, about, hidden, repeat } of runFlags()) {
    const option = new Option(flags, about).hideHelp(hidden);
    if (repeat) option.argParser((value, list: string[] = []) => [...list, value]);
    program.addOption(option);
  }
  return program;
}

describe('the flags of a run', () => {
  it('say nothing when they are not given', () => {
    expect(command().parse([], { from: 'user' }).opts()).toEqual({});
  });

  it.each(runFlags().map((flag) => [flag.flags, flag] as const))('%s sets its option', (_name, flag) => {
    const [long = ''] = /--[a-z-]+/.exec(flag.flags) ?? [];
    const args = flag.flags.includes('<') ? [long, 'x'] : [long];
    const value = flag.repeat ? ['x'] : (args[1] ?? !long.startsWith('--no-'));
    expect(command().parse(args, { from: 'user' }).opts()).toEqual({ [flag.option]: value });
  });

  it('show of each pair what changes something', () => {
    const help = command().helpInformation();
    for (const shown of [
      '-c, --concurrency <n>',
      '--sequential',
      '--no-retry',
      '--no-pr',
      '--timeout <seconds>',
    ])
      expect(help).toContain(shown);
    for (const hidden of ['--no-sequential', '  --retry', '  --pr']) expect(help).not.toContain(hidden);
  });

  it('are there for every setting that is one value', () => {
    const options = new Set(runFlags().map(({ option }) => option));
    const without = RUN_SETTINGS.filter((row) => row.flag === null).map(({ key }) => key);
    expect(without).toEqual(['run.rules', 'run.phases', 'run.rotation.maxSizeMB', 'run.rotation.maxFiles']);
    expect(options.size).toBe(RUN_SETTINGS.length - without.length + Object.keys(RUN_ONLY).length);
  });
});
