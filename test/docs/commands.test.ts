import { beforeAll, describe, expect, it } from 'vitest';
import { commandProblem, type Help, readHelp } from './help.ts';
import { BLOCKS, codes, DOCS, doc, tables } from './markdown.ts';

const COMMANDS = 'docs/commands.md';

let help: Help;
beforeAll(async () => {
  help = await readHelp();
});

/** Lines of a block that call signalbox, with prompts, variables and npx taken off. */
function callsIn(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const call = line.replace(/^\$ /, '').replace(/^(?:[A-Z_]+=\S+ )*(?:npx )?(?=signalbox )/, '');
    return call.startsWith('signalbox ') ? [call] : [];
  });
}

/** The text below a heading, up to the next one. */
function sectionOf(heading: string): string {
  const parts = doc(COMMANDS).prose.split(/^#{2,3} /m);
  return parts.find((part) => part.startsWith(`${heading}\n`))?.replaceAll('\n', ' ') ?? '';
}

describe('command lines', () => {
  it('in console and sh blocks are complete and understood', () => {
    const shown = BLOCKS.filter(({ lang }) => lang === 'console' || lang === 'sh');
    const calls = shown.flatMap(({ file, line, text }) =>
      callsIn(text).map((call) => ({ at: `${file}:${line}`, call })),
    );
    expect(calls.length).toBeGreaterThan(60);
    const wrong = calls.flatMap(({ at, call }) => {
      const problem = commandProblem(help, call, { complete: true });
      return problem ? [`${at}: ${call}: ${problem}`] : [];
    });
    expect(wrong).toEqual([]);
  });

  it('in the text name commands and flags that exist', () => {
    const wrong = DOCS.flatMap(({ file, prose }) =>
      codes(prose.replaceAll('\n', ' '))
        .filter((code) => code.startsWith('signalbox '))
        .flatMap((call) => {
          const problem = commandProblem(help, call, { complete: false });
          return problem ? [`${file}: ${call}: ${problem}`] : [];
        }),
    );
    expect(wrong).toEqual([]);
  });

  it('in console blocks are the only thing there, so that every line can be tried', () => {
    const others = BLOCKS.filter(({ lang }) => lang === 'console').flatMap(({ text }) =>
      text.split('\n').filter((line) => line !== '' && !line.startsWith('$ ')),
    );
    expect(others).toEqual([]);
  });

  it('that are wrong would be noticed', () => {
    for (const line of [
      'signalbox frobnicate',
      'signalbox pause-plan',
      'signalbox run p --bogus',
      'signalbox plan',
      'signalbox plan frobnicate p',
      'signalbox pause p t more',
    ])
      expect(commandProblem(help, line, { complete: true }), line).toBeDefined();
  });
});

describe('the reference', () => {
  it('has a section for every command, and for no other', () => {
    const sections = doc(COMMANDS).headings.filter(({ level }) => level === 3);
    expect(sections.map(({ text }) => text).sort()).toEqual([...help.commands.keys()].sort());
  });

  it('names every subcommand and every flag in the section of its command', () => {
    const missing = [...help.commands].flatMap(([name, command]) => {
      const section = sectionOf(name);
      const flags = [command, ...command.commands.values()].flatMap((each) => [...each.flags.keys()]);
      const wanted = flags.filter((flag) => !['-h', '--help', '--json'].includes(flag));
      const named = codes(section).map((code) => code.replace(/ <.*/, ''));
      return [
        ...wanted.filter((flag) => !named.includes(flag)).map((flag) => `${name}: ${flag}`),
        ...[...command.commands.keys()]
          .filter((sub) => !section.includes(`${name} ${sub}`))
          .map((sub) => `${name} ${sub}`),
      ];
    });
    expect(missing).toEqual([]);
  });

  it('names the flags that belong to every command', () => {
    const [global] = tables(COMMANDS, 'Flag');
    const named = (global?.rows ?? [])
      .flatMap(([cell = '']) => codes(cell))
      .map((code) => code.replace(/ <.*/, ''));
    const own = [...help.flags.keys()].filter((flag) => !['-h', '--help', '-V', '--version'].includes(flag));
    expect(named.sort()).toEqual([...own, '--json'].sort());
    const leaves = [...help.commands.values()].flatMap((each) => [each, ...each.commands.values()]);
    const doing = leaves.filter((each) => each.commands.size === 0);
    expect(doing.filter((each) => !each.flags.has('--json')).map(({ name }) => name)).toEqual([]);
  });
});
