import type { Kind } from '../../../config/kinds.ts';
import { checkGiven } from '../../../config/layers.ts';
import { flagOfOption, optionOf, RUN_SETTINGS } from '../../../config/run-flags.ts';
import { RUN_ONLY, type RunOnlyRow } from '../../../config/run-table.ts';
import { flagOf } from '../../../config/table.ts';
import { InputError } from '../../../model/errors.ts';
import { ISSUE_PHASES } from '../../../model/issue-phases.ts';
import { didYouMean } from '../../../model/text/near.ts';
import { namesNothing } from './batches.ts';
import { parsePhases } from './phases.ts';
import type { RunOptions } from './types.ts';

/** Values by option name; options of a group have dotted names: `rotation.maxFiles`. */
export type Values = Record<string, unknown>;

const NEGATED = { noLog: 'logJson', noSmartTests: 'smartTests', noRetry: 'retry', noPr: 'pr' } as const;
const KNOWN = new Set([
  ...RUN_SETTINGS.map((row) => optionOf(row).replace(/\..*/, '')),
  ...Object.keys(RUN_ONLY),
  ...Object.keys(NEGATED),
]);

/** The options of the group `rotation`, which accepts no others. */
const ROTATION: Kind = {
  is: 'object',
  fields: Object.fromEntries(
    RUN_SETTINGS.filter((row) => optionOf(row).startsWith('rotation.')).map((row) => [
      optionOf(row).replace('rotation.', ''),
      row,
    ]),
  ),
};

/** A caller's own options, checked: undefined ones dropped, `noX` folded into `x`, phases as one text. */
export function readOptions(options: RunOptions, userHome: string, named: 'option' | 'flag'): Values {
  const said = fold(options);
  const values: Values = {};
  if (said.rotation !== undefined)
    checkGiven(ROTATION, 'options.rotation', said.rotation, { base: '', userHome });
  if (typeof said.phases === 'string' && said.phases.trim() === '')
    throw new InputError(
      'run/phases',
      `${named === 'flag' ? '--phases' : 'options.phases'} names no phase.`,
      {
        hint: `Phases: ${ISSUE_PHASES.join(', ')}.`,
      },
    );
  if (Array.isArray(said.batch) && said.batch.includes('')) throw namesNothing('');
  const take = (option: string, flag: string, kind: Kind) => {
    const value = at(said, option);
    if (value === undefined) return;
    const name = named === 'flag' ? flag : `options.${option}`;
    values[option] = checkGiven(kind, name, value, { base: '', userHome, key: option });
  };
  for (const row of RUN_SETTINGS) take(optionOf(row), flagOf(row), row.kind);
  for (const [option, row] of Object.entries<RunOnlyRow>(RUN_ONLY))
    take(option, flagOfOption(option), row.kind);
  if (typeof values.phases === 'string') values.phases = parsePhases(values.phases).join(',');
  return values;
}

function fold(options: RunOptions): Values {
  const said: Values = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  for (const name of Object.keys(said)) if (!KNOWN.has(name)) throw unknownOption(name);
  for (const [negated, option] of Object.entries(NEGATED)) {
    const value = said[negated];
    delete said[negated];
    if (value === undefined) continue;
    const positive = !checkGiven({ is: 'boolean' }, `options.${negated}`, value, { base: '', userHome: '' });
    if (said[option] !== undefined && said[option] !== positive)
      throw new InputError('run/combination', `The options ${negated} and ${option} contradict each other.`, {
        hint: 'Give one of them.',
      });
    said[option] = positive;
  }
  if (Array.isArray(said.phases)) said.phases = said.phases.join(',');
  return said;
}

/** An option that does nothing would be taken for one that works. */
function unknownOption(name: string): InputError {
  const text = `There is no option ${JSON.stringify(name.slice(0, 80))}.${didYouMean(name, KNOWN)}`;
  return new InputError('run/unknown-option', text, { hint: `Options: ${[...KNOWN].sort().join(', ')}.` });
}

export function at(object: object, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, name) => (value as Values | null | undefined)?.[name], object);
}

export function nested(values: Values): Values {
  const result: Values = {};
  for (const [path, value] of Object.entries(values)) {
    const [name = path, leaf] = path.split('.');
    result[name] = leaf === undefined ? value : { ...(result[name] as object | undefined), [leaf]: value };
  }
  return result;
}
