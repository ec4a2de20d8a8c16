import { expect, expectTypeOf, it } from 'vitest';
import { FUNCTIONS } from '../../src/cli/command-functions.ts';
import { COMMANDS, type OptionsOf } from '../../src/cli/definitions/commands-and-their-options.ts';

// `npm run typecheck` fails where one of these does not hold.
it('the options that a command gets are those of its definition', () => {
  expectTypeOf<OptionsOf<'logs'>['untilRest']>().toEqualTypeOf<boolean | undefined>();
  expectTypeOf<OptionsOf<'logs'>['json']>().toEqualTypeOf<boolean | undefined>();
  expectTypeOf<OptionsOf<'logs'>>().not.toHaveProperty('untilRset');
  expectTypeOf<OptionsOf<'spec'>['tmux']>().toEqualTypeOf<boolean | undefined>();
  expectTypeOf<OptionsOf<'spec'>['assignBackend']>().toEqualTypeOf<string | undefined>();
  expectTypeOf<OptionsOf<'plan new'>['from']>().toEqualTypeOf<string[] | undefined>();
  expectTypeOf<OptionsOf<'plan add'>['criteria']>().toEqualTypeOf<string[] | undefined>();
  expectTypeOf<OptionsOf<'import'>['unit']>().toEqualTypeOf<'parent' | 'leaf' | undefined>();
  // @ts-expect-error
  expectTypeOf<OptionsOf<'plan edti'>>().toBeObject();
});

it('every command that has no commands below it has a function', () => {
  const all = Object.keys(COMMANDS).map((usage) => usage.replace(/ [<[].*/, ''));
  const single = all.filter((words) => !all.some((other) => other.startsWith(`${words} `)));
  expect(single.filter((words) => !Object.hasOwn(FUNCTIONS, words))).toEqual([]);
});
