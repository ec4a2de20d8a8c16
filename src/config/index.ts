// Only what is cheap to import: the YAML parser and doctor's checks stay behind their own files.

export { expandPath, userHome } from '../machine/environment.ts';
export { didYouMean, nearest } from '../model/text/near.ts';
export { findAgent } from './builtin-agents.ts';
export { type LoadOptions, loadSettings } from './load.ts';
export { configChain, findConfig, homeDir, repositoryOf } from './paths.ts';
export type { Flags, McpServer, RunSettings, Settings } from './settings.ts';
export { isTrusted, trust } from './trust.ts';
