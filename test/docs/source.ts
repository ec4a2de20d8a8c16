import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROWS, variableOf } from '../../src/config/settings-table.ts';
import { isScalar } from '../../src/config/value-kinds.ts';
import { checkScenario } from '../../src/rehearsal/load-scenario.ts';
import { ROOT } from './markdown.ts';

export function source(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

export function sourceFiles(): string[] {
  return readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `src/${name}`);
}

/** Events exist as types alone, so their names are read off the union. */
export function eventTypes(): string[] {
  return [...source('src/model/events.ts').matchAll(/type: '([a-z:]+)'/g)].map(([, type = '']) => type);
}

/** Every SIGNALBOX_ variable that the program or a bundled script reads or sets. */
export function knownVariables(): Set<string> {
  const others = ['scripts', 'tools/agents'].flatMap((dir) =>
    readdirSync(join(ROOT, dir)).map((name) => `${dir}/${name}`),
  );
  const files = [...sourceFiles(), ...others];
  const written = files.flatMap((file) => variablesIn(source(file)));
  const settings = ROWS.filter(({ kind }) => isScalar(kind)).map(({ key }) => variableOf(key));
  return new Set([...written, ...settings]);
}

export function variablesIn(text: string): string[] {
  return [...text.matchAll(/\bSIGNALBOX_[A-Z][A-Z_]*[A-Z]\b/g)].map(([name]) => name);
}

/** Names that the check of scenarios knows: it lists them when it meets another one. */
export function scenarioWords(scenario: unknown): string[] {
  try {
    checkScenario(scenario);
  } catch (error) {
    return /(?:there|allowed) are (.+)$/.exec((error as Error).message)?.[1]?.split(', ') ?? [];
  }
  throw new Error('the scenario was accepted');
}
