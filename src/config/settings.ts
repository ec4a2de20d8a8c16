import type { AgentConfig } from '../model/agent.ts';
import type { ValueOf } from './kinds.ts';
import type { Key, TABLE } from './table.ts';

type Group = Key extends infer K ? (K extends `${infer G}.${string}` ? G : never) : never;
type Value<K extends Key> = ValueOf<(typeof TABLE)[K]['kind']>;
type Flat = { [K in Exclude<Key, `${string}.${string}` | 'agents' | 'mcpServers'>]: Value<K> };
type Grouped = { [G in Group]: { [K in Key as K extends `${G}.${infer L}` ? L : never]: Value<K> } };

export interface McpServer {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** What a flag may set: any row, by key; text is read as the row wants it. */
export type Flags = { [K in Key]?: unknown };

export interface Settings extends Flat, Grouped {
  agents: Record<string, AgentConfig>;
  mcpServers: Record<string, McpServer>;
  /** By key (and `agents.<name>`): `default`, `<file>:<line>`, a variable, or a flag. */
  origin: Record<string, string>;
  configFile: string | null;
  /** A repository's own config file that nobody has trusted yet: its state may be looked at, not run. */
  untrusted: string | null;
  home: string;
  /** What `~` stands for. */
  userHome: string;
  /** Where the package with its bundled content lies. */
  packageDir: string;
  /** Directories in the order they are looked at: the user's own, then the bundled ones. */
  searchPath: { workflows: string[]; prompts: string[]; scripts: string[]; skills: string[] };
}
