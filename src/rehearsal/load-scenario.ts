import { readFileSync } from 'node:fs';
import { InputError, messageOf } from '../model/errors.ts';
import { checkScenario, Problem } from './check-scenario.ts';
import type { Rule } from './scenario.ts';

/** Reads and checks a scenario. `.yaml` and `.yml` are YAML, everything else is JSON, which starts faster. */
export async function loadScenario(file: string): Promise<Rule[]> {
  const text = readText(file);
  const value = /\.ya?ml$/.test(file) ? await fromYaml(file, text) : fromJson(file, text);
  try {
    return checkScenario(value);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { lineOf } = await import('./yaml-file.ts');
    throw bad(
      `Scenario ${file}, line ${lineOf(text, error.path)}, ${sayPlace(error.path)}: ${error.message}.`,
    );
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw bad(`Scenario ${file} cannot be read: ${messageOf(error)}.`);
  }
}

async function fromYaml(file: string, text: string): Promise<unknown> {
  const { parseYaml } = await import('./yaml-file.ts');
  const parsed = parseYaml(text);
  if ('problem' in parsed) throw bad(`Scenario ${file} is not YAML: ${parsed.problem}.`);
  return parsed.value;
}

function fromJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw bad(`Scenario ${file} is not JSON: ${messageOf(error)}.`);
  }
}

/** Turns `[1, 'do', 0, 'say']` into "rule 2, step 1, say". */
function sayPlace(path: Array<string | number>): string {
  const [rule, part, ...rest] = path;
  if (rule === undefined) return 'the whole file';
  const words = [`rule ${Number(rule) + 1}`];
  if (part === 'do' && rest.length > 0) words.push(`step ${Number(rest.shift()) + 1}`);
  else if (part !== undefined) words.push(String(part));
  return [...words, ...rest.map(String)].join(', ');
}

function bad(message: string): InputError {
  return new InputError('rehearsal/scenario', message, {
    hint: 'Fix the scenario, or leave it out for the built-in behaviour.',
  });
}
