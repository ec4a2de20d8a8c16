import { asObject, asText, oneLine } from './json.ts';

const TELLING = [
  'command',
  'file_path',
  'filePath',
  'notebook_path',
  'path',
  'pattern',
  'url',
  'query',
  'description',
  'prompt',
];

/** What a tool call is about, by the input that says most. */
export function summaryOf(input: unknown): string {
  const object = asObject(input) ?? {};
  for (const key of TELLING) {
    const text = asText(object[key]);
    if (text) return oneLine(text);
  }
  return '';
}
