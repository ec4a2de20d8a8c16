/** Commands by their words and arguments: `plan new <plan>`. The parser, the help and the completion of shells are made from them. */
export type Commands = Readonly<Record<string, CommandDefinition>>;

/** One command as data. */
export interface CommandDefinition {
  about: string;
  /** What its arguments are, by name. */
  args?: Readonly<Record<string, string>>;
  /** Help texts by flag, in commander's notation: `-f, --follow`. */
  options?: Readonly<Record<string, string | OptionDefinition>>;
  /** What `--json` does. */
  json?: string;
  /** More help, below the options. */
  notes?: string;
  /** Command lines; `signalbox` is put in front unless it is in them. Default: the usage with names for plan and ticket. */
  examples?: readonly string[];
}

export interface OptionDefinition {
  about: string;
  /** Accepted, but not shown in the help. */
  hidden?: boolean;
  /** May be given several times; the values make a list. */
  repeat?: boolean;
  required?: boolean;
  choices?: readonly string[];
  default?: string;
}

/** Arguments of commands that workflows call: the engine names the ticket in the environment. */
export const TICKET_OF_PHASE = {
  plan: 'default: the plan of this phase',
  ticket: 'default: the ticket of this phase',
};
