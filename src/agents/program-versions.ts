import { existsSync, realpathSync } from 'node:fs';
import type { DoctorFinding } from '../config/doctor/check-programs.ts';
import type { AgentProgram } from '../model/agent-and-adapter-types.ts';

const VERSION = /(\d+)\.(\d+)\.(\d+)(?:-([\w.-]+))?/;

/** The first `1.2.3` in what a program prints when it is asked for its version. */
export function versionIn(text: string): string | undefined {
  return VERSION.exec(text)?.[0];
}

/** Below zero when `a` is older. A pre-release comes before its release. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (const [index, part] of left.numbers.entries()) {
    const difference = part - (right.numbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  if (left.before === right.before) return 0;
  if (left.before === null) return 1;
  if (right.before === null) return -1;
  return left.before.localeCompare(right.before, 'en', { numeric: true });
}

function partsOf(version: string): { numbers: number[]; before: string | null } {
  const [, major, minor, patch, before] = VERSION.exec(version) ?? [];
  return { numbers: [major, minor, patch].map(Number), before: before ?? null };
}

/** Compares a version with the oldest and the newest that passed the contract suite. */
export function standing(
  version: string,
  [from, to]: readonly [from: string, to: string],
): 'tested' | 'older' | 'newer' {
  if (compareVersions(version, from) < 0) return 'older';
  return compareVersions(version, to) > 0 ? 'newer' : 'tested';
}

export function rangeText([from, to]: readonly [from: string, to: string]): string {
  return from === to ? from : `${from} to ${to}`;
}

/** Undefined for a version that is recent enough. */
export function outdated(
  program: Pick<AgentProgram, 'minimum' | 'package' | 'formerPackage'>,
  path: string,
  version: string,
): Omit<DoctorFinding, 'what'> | undefined {
  const { minimum } = program;
  if (compareVersions(version, minimum) >= 0) return undefined;
  const fix = `Update it: ${installCommand(program, path, 'latest')}`;
  return { level: 'bad', detail: `${path} is version ${version}; ${minimum} or newer is needed`, fix };
}

/** How to install another version. npm refuses to replace a command that belongs to another package. */
export function installCommand(
  { package: name, formerPackage: former }: Pick<AgentProgram, 'package' | 'formerPackage'>,
  path: string,
  version: string,
): string {
  const isFormer =
    former !== undefined && existsSync(path) && realpathSync(path).includes(`/node_modules/${former}/`);
  return `${isFormer ? `npm uninstall -g ${former} && ` : ''}npm install -g ${name}@${version}`;
}
