import type { AgentConfig } from '../model/agent.ts';
import type { ValueOf } from './kinds.ts';
import type { Key, TABLE } from './table.ts';

type Value<K extends Key> = ValueOf<(typeof TABLE)[K]['kind']>;
/** The names right below a prefix: of `run.`, `concurrency` and `rotation` among others. */
type Child<P extends string, K = Key> = K extends `${P}${infer Rest}`
  ? Rest extends `${infer Head}.${string}`
    ? Head
    : Rest
  : never;
/** Dotted keys as the nested values they stand for. */
type Tree<P extends string> = {
  [N in Child<P>]: `${P}${N}` extends Key ? Value<`${P}${N}`> : Tree<`${P}${N}.`>;
};

export interface McpServer {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** What a flag may set: any row, by key; text is read as the row wants it. */
export type Flags = { [K in Key]?: unknown };

export type RunSettings = Tree<'run.'>;

export interface Settings extends Omit<Tree<''>, 'agents' | 'mcpServers'> {
  agents: Record<string, AgentConfig>;
  mcpServers: Record<string, McpServer>;
  /** By key (and `agents.<name>`): `default`, `<file>:<line>`, a variable, or a flag. */
  origin: Record<string, string>;
  configFile: string | null;
  /** A repository's own config file that is not trusted yet: its state can be shown, but not run. */
  untrusted: string | null;
  home: string;
  /** The directory that `~` means. */
  userHome: string;
  /** The directory of the package with its bundled content. */
  packageDir: string;
  /** Directories in search order: the user's own, then the bundled ones. */
  searchPath: { workflows: string[]; prompts: string[]; scripts: string[]; skills: string[] };
}
