export function regexMutants(pattern: string, flags: string): { pattern: string; flags: string }[];
