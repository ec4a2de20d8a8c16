import { readPrompt } from './find.ts';
import { inspectTemplate } from './templates/inspect.ts';

/** Texts of every prompt that a prompt includes, and those include, by name. */
export async function readClosure(text: string, dirs: readonly string[]): Promise<Record<string, string>> {
  if (!/\{%-?\s*(?:include|render|liquid)\b/.test(text)) return {};
  return (await inspectTemplate(text, 'text', (name) => readPrompt(name, dirs))).prompts;
}
