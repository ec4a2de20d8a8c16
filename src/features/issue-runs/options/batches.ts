import { InputError } from '../../../model/errors.ts';

/** Forms of a reference; whether there is such an issue or file is found out when it is read. */
const FORMS = [
  /^#?[1-9]\d*$/,
  /^[\w.-]+\/[\w.-]+#[1-9]\d*$/,
  /^https?:\/\/\S+$/,
  /^[A-Z][A-Z0-9]*-[1-9]\d*$/,
  /\.(md|markdown)$/i,
];

/** `['123,456', '789']` → `[['123', '456'], ['789']]`; spaces separate too. */
export function parseBatches(batch: readonly string[]): string[][] {
  const seen = new Set<string>();
  return batch.map((text) => {
    const names = String(text)
      .split(/[\s,]+/)
      .filter((name) => name !== '');
    if (names.length === 0) throw namesNothing(text);
    for (const name of names) {
      if (!FORMS.some((form) => form.test(name)))
        throw bad(`--batch ${JSON.stringify(text)}: ${JSON.stringify(name)} is not an issue reference.`);
      const key = name.replace(/^#/, '');
      if (seen.has(key)) throw bad(`--batch ${JSON.stringify(text)}: ${name} is there twice.`);
      seen.add(key);
    }
    return names;
  });
}

export function namesNothing(text: string): InputError {
  return bad(`--batch ${JSON.stringify(text)} names no issue.`);
}

function bad(message: string): InputError {
  return new InputError('run/batch', message, {
    hint: 'Separate issues by commas or spaces and repeat the flag for each group: --batch "123,456" --batch 789',
  });
}
