export function unusedCode(
  src: string,
  options?: { entries?: string[]; users?: string[]; tests?: string[] },
): Record<'unusedExports' | 'unusedFiles', string[]>;
