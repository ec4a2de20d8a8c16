import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readText } from './paths.ts';

export interface Manifest {
  version: 1;
  /** What the project is written for: node, python, rust…; null when nothing tells. */
  stack: string | null;
  packageManager: string | null;
}

/** The first file that is there decides; lock files come before the manifests that several managers share. */
const STACKS: readonly [file: string | RegExp, stack: string][] = [
  ['package.json', 'node'],
  ['Cargo.toml', 'rust'],
  ['go.mod', 'go'],
  ['pyproject.toml', 'python'],
  ['requirements.txt', 'python'],
  ['setup.py', 'python'],
  ['Gemfile', 'ruby'],
  ['composer.json', 'php'],
  ['pom.xml', 'java'],
  [/^build\.gradle(\.kts)?$/, 'java'],
  ['mix.exs', 'elixir'],
  [/\.(csproj|fsproj|sln)$/, 'dotnet'],
];
const MANAGERS: Readonly<Record<string, readonly [file: string | RegExp, manager: string][]>> = {
  node: [
    ['pnpm-lock.yaml', 'pnpm'],
    ['yarn.lock', 'yarn'],
    [/^bun\.lockb?$/, 'bun'],
    ['package.json', 'npm'],
  ],
  python: [
    ['uv.lock', 'uv'],
    ['poetry.lock', 'poetry'],
    ['Pipfile.lock', 'pipenv'],
    ['pdm.lock', 'pdm'],
    [/./, 'pip'],
  ],
  rust: [[/./, 'cargo']],
  go: [[/./, 'go']],
  ruby: [[/./, 'bundler']],
  php: [[/./, 'composer']],
  java: [
    ['pom.xml', 'maven'],
    [/./, 'gradle'],
  ],
  elixir: [[/./, 'mix']],
  dotnet: [[/./, 'dotnet']],
};

/** Tells stack and package manager from the files at the top of a project. */
export function detectManifest(dir: string): Manifest {
  const files = existsSync(dir) ? readdirSync(dir) : [];
  const first = (rules: readonly [string | RegExp, string][]) =>
    rules.find(([rule]) =>
      files.some((file) => (typeof rule === 'string' ? file === rule : rule.test(file))),
    )?.[1] ?? null;
  const stack = first(STACKS);
  const packageManager =
    (stack === 'node' ? declaredManager(dir) : null) ?? first((stack && MANAGERS[stack]) || []);
  return { version: 1, stack, packageManager };
}

/** `"packageManager": "pnpm@9.1.0"` of package.json; a broken file tells nothing. */
function declaredManager(dir: string): string | null {
  const declared = /"packageManager"\s*:\s*"([a-z]+)@/.exec(readText(join(dir, 'package.json')) ?? '');
  return declared?.[1] ?? null;
}
