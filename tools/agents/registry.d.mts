export function registryAnswers(options?: { env?: NodeJS.ProcessEnv; timeoutMs?: number }): boolean;
