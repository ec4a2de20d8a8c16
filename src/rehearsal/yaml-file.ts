import { isNode, LineCounter, parseDocument } from 'yaml';
import { MAX_YAML_DEPTH, tooDeepAt } from '../model/text/yaml-depth.ts';

/** Parses YAML, or says what is wrong with it. Loaded only where it is needed: it costs more than the agent. */
export function parseYaml(text: string): { value: unknown } | { problem: string } {
  if (tooDeepAt(text) !== undefined)
    return { problem: `it is nested more than ${MAX_YAML_DEPTH} levels deep` };
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error) return { problem: error.message.split('\n')[0]?.replace(/:$/, '') ?? error.code };
  return { value: document.toJS() };
}

/** The line of the innermost place on a path that the text has. JSON is YAML too. */
export function lineOf(text: string, path: Array<string | number>): number {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter });
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lineCounter.linePos(node.range[0]).line;
  }
  return 1;
}
