import { describe, expect, it } from 'vitest';
import { loadWorkflow } from '../../src/workflows/load-and-list-workflows.ts';
import { workflowOf } from './helpers.ts';

const phases = (body: string) => `name: w\nphases:\n${body}`;
const END = '  - {id: done, type: terminal}';

async function formProblems(text: string, file = 'w.yaml'): Promise<string[]> {
  const { problems } = await loadWorkflow({ file, text });
  return problems.map(({ line, column, message }) => `${line}:${column}: ${message}`);
}

describe('a file that is no workflow', () => {
  it.each([
    ['', ['1:1: A workflow must be a mapping with "name" and "phases"; found nothing.']],
    [
      'just text',
      ['1:1: A workflow must be a mapping with "name" and "phases"; found the text "just text".'],
    ],
    ['- a', ['1:1: A workflow must be a mapping with "name" and "phases"; found a list.']],
    ['name: w', ['1:1: A workflow needs "phases", a list with at least one phase; found nothing.']],
    [
      'name: w\nphases: []',
      ['2:1: A workflow needs "phases", a list with at least one phase; found an empty list.'],
    ],
    [
      'name: w\nphases: {}',
      ['2:1: A workflow needs "phases", a list with at least one phase; found a mapping.'],
    ],
    ['name: [', ['1:8: Flow sequence in block collection must be sufficiently indented and end with a ].']],
    ['name: w\nname: x', ['2:1: Map keys must be unique.']],
    ['name: w\n\tphases: 1', ['2:1: Tabs are not allowed as indentation.']],
  ])('%j is refused with its place', async (text, expected) => {
    expect(await formProblems(text)).toEqual(expected);
  });
});

describe('the head of a workflow', () => {
  it.each([
    [
      `nam: w\n${'phases:\n'}${END}\nextra: 1`,
      ['1:1: Unknown key "nam". Did you mean "name"?', '4:1: Unknown key "extra".'],
    ],
    [`name: 5\nphases:\n${END}`, ['1:7: "name" must be text; found 5.']],
    [
      `name: "a b"\nphases:\n${END}`,
      ['1:7: "name" is the text "a b", but a workflow name holds letters, digits, "_" and "-".'],
    ],
    [`name: w\ntags: x\nphases:\n${END}`, ['2:7: "tags" must be a list; found the text "x".']],
  ])('%j is refused', async (text, expected) => {
    expect(await formProblems(text)).toEqual(expected);
  });

  it('may say where its schema is, for editors', async () => {
    const text = `$schema: ../schemas/workflow.schema.json\n${phases(END)}`;
    expect(await formProblems(text)).toEqual([]);
    expect(await formProblems(`$schema: 1\n${phases(END)}`)).toEqual([
      '1:10: "$schema" must be text; found 1.',
    ]);
  });

  it('takes its name from the file when it has none', async () => {
    const { name, workflow } = await loadWorkflow({ file: '/x/quick-fix.yml', text: `phases:\n${END}` });
    expect(name).toBe('quick-fix');
    expect(workflow?.name).toBe('quick-fix');
  });

  it('refuses a file name that cannot be a workflow name', async () => {
    expect(await formProblems(`phases:\n${END}`, 'my flow.yaml')).toEqual([
      '1:1: "name" is the text "my flow", but a workflow name holds letters, digits, "_" and "-".',
    ]);
  });

  it('knows the name of a file that cannot be parsed', async () => {
    const { name, workflow } = await loadWorkflow({
      file: 'x.yaml',
      text: 'name: "local" # the one\nphases: [',
    });
    expect([name, workflow]).toEqual(['local', undefined]);
  });
});

describe('a phase', () => {
  it.each<[string, string[]]>([
    ['  - 5', ['3:5: A phase must be a mapping; found 5.']],
    ['  - {id: a}', ['3:5: The phase has no type.']],
    ['  - {id: a, type: scrip}', ['3:19: Unknown phase type "scrip". Did you mean "script"?']],
    ['  - {id: a, type: 7}', ['3:19: Unknown phase type 7.']],
    ['  - id: a\n    type: script', ['3:5: A script phase needs "command".']],
    ['  - id: a\n    type: gate', ['3:5: A gate phase needs "on".']],
    ['  - type: agent\n    prompt: x', ['3:5: An agent phase needs "id".']],
    [
      '  - id: a\n    type: terminal\n    onSuccess: b',
      ['5:5: "onSuccess" is not allowed on a terminal phase.'],
    ],
    [
      '  - id: a\n    type: terminal\n    notify: yes',
      ['5:13: "notify" must be true or false; found the text "yes".'],
    ],
  ])('%j is refused', async (body, expected) => {
    expect(await formProblems(phases(body))).toEqual(expected);
  });

  it('reports all its mistakes, each at its place', async () => {
    const text = phases(`  - id: 1a
    type: script
    command: 5
    args: x
    timeoutSeconds: "10"
    maxRetries: 1.5
    maxVisits: 0
    retry: {delay: 3}
    on: {x: 5}
    maxTurns: 3
    comand: x`);
    expect(
      (await formProblems(text)).sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)),
    ).toEqual([
      '3:9: "id" is the text "1a", but a phase id starts with a letter and holds letters, digits, "_" and "-".',
      '5:14: "command" must be text; found 5.',
      '6:11: "args" must be a list; found the text "x".',
      '7:21: "timeoutSeconds" must be a number; found the text "10".',
      '8:17: "maxRetries" must be a whole number; found 1.5.',
      '9:16: "maxVisits" must be more than 0; found 0.',
      '10:12: "retry" needs "max".',
      '10:13: Unknown key "delay" in "retry".',
      '11:13: "on.x" must be text; found 5.',
      '12:5: "maxTurns" is not allowed on a script phase.',
      '13:5: Unknown key "comand". Did you mean "command"?',
    ]);
  });

  it('reports wrong values of an agent phase', async () => {
    const text = phases(`  - id: a
    type: agent
    prompt: ""
    effort: hihg
    access: all
    expect: {commits: 0, clean: false, files: []}
    capture: {"a-b": stdout}
    maxRetries: 100`);
    expect(await formProblems(text)).toEqual([
      '5:13: "prompt" must be text that is not empty; found an empty text.',
      '6:13: "effort" must be minimal, low, medium, high, xhigh or max; found the text "hihg".',
      '7:13: "access" must be read, write or full; found the text "all".',
      '8:23: "expect.commits" must be more than 0; found 0.',
      '8:33: "expect.clean" must be true; found false.',
      '8:47: "expect.files" must be a list with at least one entry; found an empty list.',
      '10:17: "maxRetries" must be at most 20; found 100.',
      '9:15: "capture.a-b" cannot be used: a captured name holds letters, digits and "_".',
    ]);
  });

  it('names in its hint the types that have a foreign key, the keys it could have, the value that was meant', async () => {
    const text =
      phases(`  - {id: a, type: poll, command: x, maxTurns: 3, idleSeconds: 3, retry: {max: 1, n: 2}, foo: 1}
  - {id: b, type: agent, prompt: x, effort: hihg}`);
    const { problems } = await loadWorkflow({ file: 'w.yaml', text });
    expect(problems.map(({ hint }) => hint)).toEqual([
      'Keys of "retry": max, delaySeconds, factor, maxDelaySeconds.',
      'It belongs to agent phases.',
      'It belongs to script, agent phases.',
      'Keys of a poll phase: id, description, workerLabels, maxVisits, type, command, args, action, with, intervalSeconds, timeoutSeconds, notify, maxRetries, retry, capture, onSuccess, onFailure, on.',
      'Did you mean "high"?',
    ]);
  });

  it('keeps the good phases of a workflow with a bad one, and the ids of all', async () => {
    const text = phases(`  - {id: a, type: script, command: s.sh, foo: 1}\n${END}`);
    const { phases: read, ids, workflow } = await loadWorkflow({ file: 'w.yaml', text });
    expect(read.map((phase) => phase?.id)).toEqual([undefined, 'done']);
    expect(ids).toEqual(['a', 'done']);
    expect(workflow).toBeUndefined();
  });
});

describe('a good workflow', () => {
  it('has its defaults filled in', async () => {
    const workflow = await workflowOf(
      phases(`  - {id: a, type: script, command: s.sh, retry: {max: 2}}\n${END}`),
    );
    expect(workflow).toEqual({
      name: 'w',
      description: '',
      tags: [],
      phases: [
        {
          id: 'a',
          type: 'script',
          command: 's.sh',
          args: [],
          retry: { max: 2, delaySeconds: 0, factor: 2, maxDelaySeconds: 600 },
        },
        { id: 'done', type: 'terminal', notify: false },
      ],
    });
  });

  it('may use anchors', async () => {
    const text = phases(`  - &a {id: a, type: script, command: s.sh, timeoutSeconds: &t 60, onSuccess: b}
  - {id: b, type: script, command: s.sh, timeoutSeconds: *t}`);
    const workflow = await workflowOf(text);
    expect(workflow.phases.map((phase) => 'timeoutSeconds' in phase && phase.timeoutSeconds)).toEqual([
      60, 60,
    ]);
  });
});
