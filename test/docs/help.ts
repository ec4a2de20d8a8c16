import { rmSync } from 'node:fs';
import { scratch, signalbox } from './cli.ts';

/** A command as its own help describes it. */
export interface Help {
  name: string;
  required: number;
  most: number;
  /** Every spelling of every flag, and whether it takes a value, or as many as follow. */
  flags: Map<string, boolean | 'many'>;
  commands: Map<string, Help>;
}

/** All commands, by asking each of them for help. */
export async function readHelp(): Promise<Help> {
  const home = scratch();
  try {
    return await ask([], home);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function ask(path: string[], home: string): Promise<Help> {
  const { code, out } = await signalbox([...path, '--help', '--all'], home);
  if (code !== 0) throw new Error(`signalbox ${path.join(' ')} --help ended with ${code}`);
  const usage = /^Usage: signalbox(.*)$/m.exec(out)?.[1] ?? '';
  const words = usage
    .split(' ')
    .filter((word) => /^[<[]/.test(word) && !['[options]', '[command]', '<command>'].includes(word));
  const flags: Help['flags'] = new Map();
  for (const [, short, long = '', value] of out.matchAll(/^ {2}(?:(-\w), )?(--[\w-]+)(?: (<[^>]+>))?/gm)) {
    const takes = value?.endsWith('...>') ? 'many' : value !== undefined;
    flags.set(long, takes);
    if (short) flags.set(short, takes);
  }
  // The arguments of a command are listed in the same form, but not under these headings.
  const lists = out.matchAll(/^(?!Arguments|Options|Examples)\w[\w ]*:\n((?: {2}.*\n)+)/gm);
  const names = [...lists].flatMap(([, list = '']) =>
    [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => name),
  );
  const found = await Promise.all(names.map((name) => ask([...path, name], home)));
  return {
    name: path.join(' '),
    required: words.filter((word) => word.startsWith('<')).length,
    most: words.some((word) => word.includes('...')) ? Number.POSITIVE_INFINITY : words.length,
    flags,
    commands: new Map(found.map((each) => [each.name.split(' ').at(-1) ?? '', each])),
  };
}

/** The words of a command line, as a shell would split them, up to a pipe, a redirection or a comment. */
function words(line: string): string[] {
  const found: string[] = [];
  for (const [, quoted, single, plain] of line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)) {
    if (plain && /^(#|\||&&|>|;)/.test(plain)) break;
    found.push(quoted ?? single ?? plain ?? '');
  }
  return found;
}

/** What is wrong with a command line that begins with `signalbox`, or undefined. */
export function commandProblem(help: Help, line: string, options: { complete: boolean }): string | undefined {
  const [first, ...rest] = words(line);
  if (first !== 'signalbox') return 'does not begin with signalbox';
  if (rest[0] === 'help') return undefined;
  let here = help;
  let given = 0;
  for (let i = 0; i < rest.length; i++) {
    const word = rest[i] ?? '';
    if (word.startsWith('-')) {
      const [flag = '', value] = word.split('=');
      const takesValue = here.flags.get(flag) ?? help.flags.get(flag);
      if (flag === '--version' || flag === '--help') return undefined;
      if (takesValue === undefined) return `${here.name || 'signalbox'} has no flag ${flag}`;
      if (takesValue && value === undefined) i++;
      while (takesValue === 'many' && rest[i + 1] !== undefined && !rest[i + 1]?.startsWith('-')) i++;
      continue;
    }
    if (word === '<command>') return undefined;
    const next = given === 0 ? here.commands.get(word) : undefined;
    if (next) here = next;
    else if (here.commands.size > 0 && here.most === 0) return `${here.name} has no command ${word}`;
    else given++;
  }
  if (given > here.most) return `${here.name} takes at most ${here.most} arguments, not ${given}`;
  const group = here.commands.size > 0 && here.most === 0 && !here.flags.has('--json');
  if (options.complete && (given < here.required || group)) return `${here.name} needs more`;
  return undefined;
}
