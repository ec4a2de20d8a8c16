import type { Command } from 'commander';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openEngine } from '../open.ts';

export function registerNotify(program: Command, io: Io): void {
  const notify = program
    .command('notify')
    .description('tell people when they are needed: see whether that works')
    .addHelpText('after', '\nExamples:\n  $ signalbox notify test');
  notify
    .command('test')
    .description('send one notification to each place that `notify` of the settings names')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nEnds with 1 when a place is not reached, or none is configured.\n\nExamples:\n  $ signalbox notify test',
    )
    .action(async (_options: unknown, command: Command) =>
      test(command.optsWithGlobals<GlobalOptions>(), io),
    );
}

async function test(options: GlobalOptions, io: Io): Promise<void> {
  const parts = await openEngine(io, options, 'notify');
  const { tryPlaces } = await import('../../features/notifications/notify.ts');
  const told = await tryPlaces(parts);
  const ok = told.length > 0 && told.every((each) => each.ok);
  if (options.json) outJson(io, { ok, places: told });
  else {
    for (const each of told) io.out(each.ok ? `✓ ${each.label}` : `✗ ${each.error}`);
    if (told.length === 0)
      io.err('No place is configured. Set notify.desktop, notify.command or notify.webhook.');
  }
  if (!ok) io.exit(1);
}
