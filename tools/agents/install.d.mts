export function cacheDir(env?: NodeJS.ProcessEnv): string;
export function commandOf(name: string, env?: NodeJS.ProcessEnv): string;
export function install(
  name: string,
  options?: { env?: NodeJS.ProcessEnv; say?: (line: string) => void },
): string;
