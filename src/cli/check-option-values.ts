import { InputError } from '../model/errors.ts';

/** The setting that `--no-base-check` stands for. */
export function baseCheckFlag({ baseCheck }: { baseCheck?: boolean | undefined }): { baseCheck?: 'off' } {
  return baseCheck === false ? { baseCheck: 'off' } : {};
}

/** Refuses what is not a positive whole number, before anything is opened. */
export function positiveInteger(flag: string, value: string | number | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (!/^[1-9]\d{0,5}$/.test(String(value)))
    throw invalid(flag, value, 'Must be a positive integer.', `For example: ${flag} 4`);
  return Number(value);
}

export function oneOf<const T extends string>(flag: string, value: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === value);
  if (found !== undefined) return found;
  throw invalid(flag, value, `Must be ${choices.join(' or ')}.`, `For example: ${flag} ${choices.at(-1)}`);
}

export function invalid(flag: string, value: unknown, rule: string, hint?: string): InputError {
  return new InputError('usage', `Invalid ${flag} value: ${value}. ${rule}`, { hint });
}
