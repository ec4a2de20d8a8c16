export function cacheDir(env?: NodeJS.ProcessEnv): string;
export function commandOf(asked: string, env?: NodeJS.ProcessEnv): string;
export function install(
  asked: string,
  options?: { env?: NodeJS.ProcessEnv; say?: (line: string) => void },
): string;
export function provide(name: string, pinned: { package: string; version: string; bin: string }): string;
