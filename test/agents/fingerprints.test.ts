import { describe, expect, it } from 'vitest';
import { line, readerFor } from './support.ts';

/** One call of a tool, from begin to end, with its own id. */
const CALLS: Record<string, (id: string, input: string, result: string) => unknown[]> = {
  claude: (id, command, content) => [
    { type: 'assistant', message: { content: [{ type: 'tool_use', id, name: 'Bash', input: { command } }] } },
    { type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: id, content }] } },
  ],
  codex: (id, command, aggregated_output) => [
    { type: 'item.started', item: { id, type: 'command_execution', command } },
    { type: 'item.completed', item: { id, type: 'command_execution', command, aggregated_output } },
  ],
  opencode: (id, command, output) => [
    {
      type: 'tool_use',
      part: { id, tool: 'bash', state: { input: { command }, output, time: { start: id } } },
    },
  ],
  pi: (toolCallId, command, text) => [
    { type: 'tool_execution_start', toolCallId, toolName: 'bash', args: { command } },
    { type: 'tool_execution_end', toolCallId, toolName: 'bash', result: { content: [{ text }] } },
  ],
  gemini: (tool_id, command, output) => [
    { type: 'tool_use', tool_id, tool_name: 'run_shell_command', parameters: { command } },
    { type: 'tool_result', tool_id, status: 'success', output },
  ],
};

describe.each(Object.entries(CALLS))('a tool call of %s', (name, call) => {
  const reader = readerFor(name);
  let id = 0;
  const fingerprint = (input: string, result: string) => {
    id += 1;
    const events = call(`t${id}`, input, result).flatMap((event) => reader.line(line(event)));
    expect(events.map((event) => event.type === 'tool' && event.done)).toEqual([false, true]);
    return events.flatMap((event) => (event.type === 'tool' && event.fingerprint) || []);
  };

  it('has a fingerprint of its input and its result', () => {
    const once = fingerprint('ls', 'a.txt');
    expect(once).toHaveLength(1);
    expect(fingerprint('ls', 'a.txt')).toEqual(once);
    expect(fingerprint('ls', 'b.txt')).not.toEqual(once);
    expect(fingerprint('ls -l', 'a.txt')).not.toEqual(once);
  });
});
