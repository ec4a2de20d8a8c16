// Only what is cheap to import: the YAML parser and doctor's checks stay behind their own files.
export { findAgent } from './builtin-agents.ts';
export { type LoadOptions, loadSettings } from './load.ts';
export { didYouMean, nearest } from './near.ts';
export { configChain, expandPath, findConfig, homeDir, repositoryOf, userHome } from './paths.ts';
export type { Flags, McpServer, RunSettings, Settings } from './settings.ts';
export { isTrusted, trust } from './trust.ts';
