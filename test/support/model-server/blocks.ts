import { asObject, type JsonObject } from '../../../src/model/text/values-of-unknown-type.ts';
import type { Asked, Block, OfferedTool } from './protocol.ts';
import type { Action, Answer } from './scenario.ts';

const SHELLS = ['Bash', 'bash', 'shell_command', 'exec_command', 'shell', 'run_shell_command'];
const WRITERS = ['Write', 'write', 'write_file'];
const RESULTS = ['StructuredOutput'];

/** An answer in terms of the tools that the client offers: one scenario serves every CLI. */
export function blocksOf(answer: Answer, asked: Asked, idOf: () => string): Block[] {
  const calls = (answer.do ?? []).map(
    (action): Block => ({ type: 'tool', id: idOf(), ...callOf(action, asked) }),
  );
  const blocks: Block[] = answer.say === undefined ? [] : [{ type: 'text', text: answer.say }];
  return [...blocks, ...calls, ...resultOf(answer, asked, idOf)];
}

function resultOf({ result }: Answer, asked: Asked, idOf: () => string): Block[] {
  if (result === undefined) return [];
  const tool = find(asked.tools, RESULTS);
  if (tool) return [{ type: 'tool', id: idOf(), name: tool.name, args: result as JsonObject }];
  const json = JSON.stringify(result);
  return [{ type: 'text', text: asked.wantsJson ? json : `The result:\n<signalbox>${json}</signalbox>` }];
}

function callOf(action: Action, { tools }: Asked): { name: string; args: JsonObject | string } {
  if ('write' in action) {
    const { path, content } = action.write;
    const tool = find(tools, WRITERS);
    if (tool) return { name: tool.name, args: filled(tool, { path, content }) };
    return callOf({ shell: `cat > '${path}' <<'END_OF_FILE'\n${content}\nEND_OF_FILE` }, { tools } as Asked);
  }
  // Without a shell the call is made all the same, as a stubborn model would: the client has to refuse it.
  const tool = find(tools, SHELLS) ?? { name: 'Bash', parameters: {}, freeform: false };
  return { name: tool.name, args: filled(tool, { command: action.shell }) };
}

/** Arguments under the names of the tool's own schema, with something for what it requires beyond them. */
function filled(tool: OfferedTool, values: Record<string, string>): JsonObject {
  const properties = asObject(tool.parameters.properties) ?? {};
  const required = Array.isArray(tool.parameters.required) ? tool.parameters.required.map(String) : [];
  const args: JsonObject = {};
  for (const [name, value] of Object.entries(values)) args[spelled(name, properties)] = value;
  const command = asObject(properties.command);
  if (command?.type === 'array') args.command = ['bash', '-lc', values.command];
  for (const name of required) args[name] ??= 'as asked';
  return args;
}

const SPELLINGS: Record<string, string[]> = {
  command: ['command', 'cmd'],
  path: ['path', 'file_path', 'filePath', 'absolute_path'],
  content: ['content', 'contents'],
};

function spelled(name: string, properties: JsonObject): string {
  return SPELLINGS[name]?.find((spelling) => Object.hasOwn(properties, spelling)) ?? name;
}

function find(tools: OfferedTool[], names: string[]): OfferedTool | undefined {
  return names.map((name) => tools.find((tool) => tool.name === name)).find((tool) => tool !== undefined);
}
