import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { InputError } from '../model/errors.ts';
import { readConfigText, repositoryOf } from './find-config-and-state.ts';

interface Manifest {
  version: 1;
  /** The project's stack: node, python, rust…; null when unknown. */
  stack: string | null;
  packageManager: string | null;
}

export interface ProjectManifest extends Manifest {
  /** Top of the project. */
  root: string;
  /** The file it was read from; null before `signalbox init`. */
  file: string | null;
}

const VERSION = 1;

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

/** The manifest that `init` wrote for the project of a directory; missing values are detected from the files. */
export function readManifest(directory: string): ProjectManifest {
  const root = repositoryOf(directory) ?? directory;
  const file = join(root, '.signalbox', 'manifest.json');
  const text = readConfigText(file);
  const detected = detectManifest(root);
  if (text === undefined) return { ...detected, root, file: null };
  const { stack, packageManager } = parseManifest(text, file);
  const same = stack === null || stack === detected.stack;
  return {
    version: VERSION,
    stack: stack ?? detected.stack,
    packageManager: packageManager ?? (same ? detected.packageManager : null),
    root,
    file,
  };
}

function parseManifest(text: string, file: string): Pick<Manifest, 'stack' | 'packageManager'> {
  const bad = (why: string, cause?: unknown) =>
    new InputError('manifest/value', `${file}: ${why}.`, {
      hint: 'Correct it, or delete it and run `signalbox init`.',
      details: { file },
      cause,
    });
  let data: Record<string, unknown> | null;
  try {
    data = JSON.parse(text) as typeof data;
  } catch (error) {
    throw bad('it is not JSON', error);
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) throw bad('it is not a mapping');
  const { version, stack = null, packageManager = null } = data;
  if (typeof version === 'number' && version > VERSION)
    throw bad(`version ${version} was written for a newer Signalbox`);
  if (version !== VERSION) throw bad(`"version" is not ${VERSION}`);
  const isName = (value: unknown): value is string | null => value === null || typeof value === 'string';
  if (!isName(stack)) throw bad('"stack" is neither text nor null');
  if (!isName(packageManager)) throw bad('"packageManager" is neither text nor null');
  return { stack, packageManager };
}

/** Detects stack and package manager from the files at the top of a project. */
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

/** `"packageManager": "pnpm@9.1.0"` of package.json; null for a broken file. */
function declaredManager(dir: string): string | null {
  const declared = /"packageManager"\s*:\s*"([a-z]+)@/.exec(readConfigText(join(dir, 'package.json')) ?? '');
  return declared?.[1] ?? null;
}
