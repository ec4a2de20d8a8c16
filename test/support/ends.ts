/** What helpers have to tidy up. Files share their modules, so a helper's own hooks would serve its first file alone. */
const tests = new Set<() => void>();
const files = new Set<() => void>();

export function atTestEnd(tidy: () => void): void {
  tests.add(tidy);
}

export function atFileEnd(tidy: () => void): void {
  files.add(tidy);
}

export function testEnded(): void {
  for (const tidy of tests) tidy();
}

export function fileEnded(): void {
  for (const tidy of files) tidy();
}
