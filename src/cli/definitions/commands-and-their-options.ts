import type { GlobalOptions } from '../open-settings-store-and-engine.ts';
import { FLEET_COMMANDS } from './fleet-commands.ts';
import { PLAN_COMMANDS } from './plan-and-workflow-commands.ts';
import { PROJECT_COMMANDS } from './project-and-workflow-step-commands.ts';
import { RUN_COMMANDS } from './run-commands.ts';
import { TICKET_COMMANDS } from './ticket-commands.ts';

/** All commands but `completion`, which needs the others. */
export const COMMANDS = {
  ...RUN_COMMANDS,
  ...TICKET_COMMANDS,
  ...PLAN_COMMANDS,
  ...PROJECT_COMMANDS,
  ...FLEET_COMMANDS,
};
type Commands = typeof COMMANDS;

/** The words of a command, without its arguments. */
export type CommandWords = WordsOf<keyof Commands>;

/** What the parser gives to the function of a command: `OptionsOf<'logs'>` has `untilRest` for `--until-rest`. */
export type OptionsOf<Words extends CommandWords> = GlobalOptions &
  OptionsIn<{ [K in keyof Commands as WordsOf<K>]: Commands[K] }[Words]>;

/** `plan edit` of `plan edit <plan> [ticket]`. */
type WordsOf<Usage> = Usage extends `${infer Words} <${string}`
  ? WordsOf<Words>
  : Usage extends `${infer Words} [${string}`
    ? Words
    : Usage;

type OptionsIn<D> = D extends { options: infer O }
  ? { -readonly [F in keyof O as KeyOf<F>]?: ValueOf<F, O[F]> }
  : unknown;

type KeyOf<Flag> = Flag extends `${string}--${infer Name}`
  ? Camel<Name extends `${infer N} <${string}` ? N : Name>
  : never;
type Camel<Name> = Name extends `no-${infer N}` ? InCamel<N> : InCamel<Name>;
type InCamel<Name> = Name extends `${infer A}-${infer B}` ? `${A}${Capitalize<InCamel<B>>}` : Name;

type ValueOf<Flag, Option> = Flag extends `${string}<${string}`
  ? Flag extends `${string}...>`
    ? string[]
    : Option extends { repeat: true }
      ? string[]
      : Option extends { choices: readonly (infer C)[] }
        ? C
        : string
  : boolean;
