export function roomProblems(src: string): Record<string, string[]>;
