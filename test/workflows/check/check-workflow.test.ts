import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { checkAll } from '../../../src/workflows/check/check-workflow.ts';
import { D, directory, FILES, phases, problemsOf, searchPath } from '../helpers.ts';

const script = (rest: string) => `{id: a, type: script, command: s.sh${rest}}`;
const agent = (rest: string) => `{id: a, type: agent, prompt: x${rest}}`;

describe('edges and loops', () => {
  it.each<[string, string, string[]]>([
    [
      'a doubled id',
      phases(script(', onSuccess: b'), '{id: a, type: terminal}', '{id: b, type: terminal}'),
      ['4:10: Phase id "a" is taken by the phase at line 3.'],
    ],
    [
      'edges to phases that are not there',
      phases(script(', onSuccess: chekcs, on: {timeout: zzz}'), '{id: checks, type: terminal}'),
      ['3:53: There is no phase "chekcs". Did you mean "checks"?', '3:75: There is no phase "zzz".'],
    ],
    [
      'phases that nothing leads to',
      phases(script(''), '{id: b, type: script, command: s.sh, onSuccess: c}', '{id: c, type: terminal}'),
      ['4:10: Phase "b" cannot be reached from "a".', '5:10: Phase "c" cannot be reached from "a".'],
    ],
    [
      'a loop that nothing bounds',
      phases(
        script(', onSuccess: b, onFailure: d'),
        '{id: b, type: script, command: s.sh, onSuccess: d, onFailure: c}',
        '{id: c, type: script, command: s.sh, onSuccess: a, onFailure: d}',
        D,
      ),
      ['5:53: Nothing bounds the loop a → b → c → a.'],
    ],
    [
      'a phase that leads to itself',
      phases(script(', onFailure: a')),
      ['3:53: Nothing bounds the loop a → a.'],
    ],
    [
      'a second loop beside a bounded one',
      phases(
        script(', onSuccess: b, maxVisits: 3'),
        '{id: b, type: script, command: s.sh, onSuccess: d, on: {timeout: b}, onFailure: a}',
        D,
      ),
      ['4:70: Nothing bounds the loop b → b.'],
    ],
    [
      'no way to complete',
      phases(script(', onSuccess: b, maxVisits: 3'), '{id: b, type: script, command: s.sh, onSuccess: a}'),
      ['2:1: No ticket can complete: every success edge leads on.'],
    ],
    [
      'no way to complete through a gate',
      phases('{id: g, type: gate, on: {yes: a}, maxVisits: 2}', script(', onSuccess: g')),
      ['2:1: No ticket can complete: every success edge leads on.'],
    ],
    ['a bounded loop', phases(script(', maxVisits: 3, onFailure: a')), []],
    ['no terminal, but a success that completes', phases(script('')), []],
  ])('%s', async (_, text, expected) => {
    expect(await problemsOf(text, FILES)).toEqual(expected);
  });
});

describe('rules of one phase', () => {
  it.each<[string, string, string[]]>([
    [
      'the same thing said twice',
      phases(
        script(', maxRetries: 1, retry: {max: 2}, onSuccess: d, onFailure: d, on: {success: d, failure: d}'),
        D,
      ),
      [
        '3:42: "maxRetries" and "retry" exclude each other.',
        '3:74: "onSuccess" and "on.success" are the same edge.',
        '3:88: "onFailure" and "on.failure" are the same edge.',
      ],
    ],
    [
      'criteria without a result that has them',
      phases(agent(', criteria: {met: []}, onSuccess: d'), D),
      ['3:37: "criteria" needs a result with criteria.'],
    ],
    ['an agent without a prompt', phases('{id: a, type: agent}'), ['3:5: Agent phase "a" has no prompt.']],
    [
      'an agent with two prompts',
      phases(agent(', promptTemplate: p.md')),
      ['3:26: "prompt" and "promptTemplate" exclude each other.'],
    ],
    [
      'a prompt file that is not there',
      phases('{id: a, type: agent, promptTemplate: pp.md}'),
      ['3:42: There is no prompt "pp.md". Did you mean "p.md"?'],
    ],
    [
      'a prompt outside its directory',
      phases('{id: a, type: agent, promptTemplate: ../p.md}'),
      ['3:42: Prompt "../p.md" has an empty, "." or ".." part.'],
    ],
    [
      'a script that is not there',
      phases('{id: a, type: script, command: S.sh}'),
      ['3:36: There is no script "S.sh". Did you mean "s.sh"?'],
    ],
    [
      'a script outside its directory',
      phases('{id: a, type: poll, command: /bin/sh}'),
      ['3:34: Script "/bin/sh" is a path of its own.'],
    ],
    [
      'a gate without decisions',
      phases('{id: g, type: gate, on: {}}'),
      ['3:29: A gate needs at least one decision.'],
    ],
    [
      'a gate whose script is not there',
      phases('{id: g, type: gate, command: S.sh, on: {ok: d}}', D),
      ['3:34: There is no script "S.sh". Did you mean "s.sh"?'],
    ],
    [
      'how a gate looks, without a script that does',
      phases('{id: g, type: gate, intervalSeconds: 5, on: {ok: d}}', D),
      ['3:25: "intervalSeconds" of a gate needs a "command" or an "action".'],
    ],
    [
      'outcomes a script cannot have',
      phases(script(', on: {ready: d, timeout: d}'), D),
      ['3:47: A script phase cannot end with "ready".'],
    ],
    [
      'outcomes a poll cannot have',
      phases('{id: a, type: poll, command: s.sh, on: {timout: d}}', D),
      ['3:45: A poll phase cannot end with "timout". Did you mean "timeout"?'],
    ],
    [
      'outcomes that the script of a poll names, which are no problem',
      phases('{id: a, type: poll, command: s.sh, onSuccess: d, on: {approved: d, closed: d}}', D),
      [],
    ],
    [
      'an action that does not exist',
      phases('{id: a, type: action, action: integrat}'),
      [expect.stringMatching(/^3:35: .*"?integrat"?/)],
    ],
    [
      'outcomes an action cannot have',
      phases('{id: a, type: action, action: checks, onSuccess: d, on: {refused: d, timeout: d}}', D),
      ['3:62: The action "checks" cannot end with "refused".'],
    ],
    [
      'outcomes that a wait cannot end with',
      phases(
        '{id: a, type: poll, action: pull-request-poll, with: {for: end}, on: {merged: d, approved: d}}',
        D,
      ),
      ['3:86: The action "pull-request-poll" cannot end with "approved".'],
    ],
    [
      'an input that an action does not have',
      phases('{id: a, type: action, action: integrate, with: {theirs: true}}'),
      ['3:53: The action "integrate" has no input "theirs".'],
    ],
    [
      'an action of another type of phase',
      phases('{id: a, type: poll, action: integrate}'),
      ['3:33: "action" must be pull-request-poll; found the text "integrate".'],
    ],
    [
      'a script and an action',
      phases('{id: a, type: poll, command: s.sh, action: pull-request-poll}'),
      ['3:25: "command" and "action" exclude each other.'],
    ],
    [
      'a poll that looks at nothing',
      phases('{id: a, type: poll}'),
      ['3:5: Poll phase "a" names neither a script nor an action.'],
    ],
    [
      'what an action cannot find',
      phases('{id: g, type: gate, action: pull-request-review, on: {approve: d, gone: d}, found: [gone]}', D),
      [expect.stringMatching(/The action "pull-request-review" cannot find "gone"\.$/)],
    ],
    [
      'a gate with an action and answers of people, which is no problem',
      phases('{id: g, type: gate, action: pull-request-review, on: {approve: d, later: d}}', D),
      [],
    ],
    [
      'outcomes of an agent that returns no result',
      phases(agent(', on: {approve: d, sucess: d}'), D),
      [
        '3:42: An agent phase without "output" cannot end with "approve".',
        '3:54: An agent phase without "output" cannot end with "sucess". Did you mean "success"?',
      ],
    ],
  ])('%s', async (_, text, expected) => {
    expect(await problemsOf(text, FILES)).toEqual(expected);
  });
});

describe('fields that would do nothing', () => {
  it.each<[string, string[]]>([
    [script(', capture: {__proto__: stdout}'), ['"__proto__" cannot be used as a name.']],
    [agent(', expect: {}'), ['"expect" names nothing to look for.']],
    [agent(', expect: {own: true}'), ['"own" says which commits count and needs "commits".']],
    [agent(', expect: {own: true, commits: 1}'), []],
    [agent(', repair: false'), ['"repair" needs "output": without it there is no result to correct.']],
    [agent(', repair: false, output: {type: object}'), []],
    [
      script(', retry: {max: 0, delaySeconds: 5}'),
      ['"delaySeconds" does nothing with "max: 0": nothing is repeated.'],
    ],
    [script(', retry: {max: 0}'), []],
    [script(', retry: {max: 2, delaySeconds: 5, factor: 3, maxDelaySeconds: 9}'), []],
    ["{id: g, type: gate, on: {'': d}}", ['"" can be no decision.']],
    ["{id: g, type: gate, on: {' ok': d}}", ['" ok" can be no decision.']],
    ["{id: g, type: poll, command: s.sh, on: {'': d, success: d}}", ['"" can be no outcome.']],
    [
      '{id: g, type: gate, on: {ok: d}, timeoutSeconds: 1.0e+13}',
      ['"timeoutSeconds" must be at most 315360000; found 10000000000000.'],
    ],
    ["{id: g, type: gate, on: {ok: d}, prompt: ' '}", ['The prompt is empty.']],
    ["{id: a, type: agent, prompt: '   '}", ['The prompt is empty.']],
  ])('%s', async (phase, expected) => {
    const found = await problemsOf(phases(phase, ...(/: d[,}]/.test(phase) ? [D] : [])), FILES);
    expect(found.map((line) => line.replace(/^\S+ /, ''))).toEqual(expected);
  });

  it('are found where they stand', async () => {
    expect(await problemsOf(phases(script(', capture: {__proto__: stdout}')), FILES)).toEqual([
      '3:52: "__proto__" cannot be used as a name.',
    ]);
  });
});

describe('results and captures', () => {
  const output = (schema: string, rest = '') => phases(agent(`, output: ${schema}${rest}`), D);
  it.each<[string, string, string[]]>([
    [
      'a result of a script, and a name that is taken',
      phases(script(', capture: {x: result.y, title: stdout}')),
      [
        '3:55: Only an agent phase has a result, not a script phase.',
        '3:65: "title" is a template variable of its own, so this capture could never be read.',
      ],
    ],
    [
      'a result without output',
      phases(agent(', capture: {x: result.y}')),
      ['3:50: "result.y" needs "output": without it the agent returns no result.'],
    ],
    [
      'fields the result does not have',
      phases(
        agent(
          ', capture: {x: result.sumary, y: result.outcome, z: result, q: result.list.0.file}, output: {type: object, properties: {summary: {type: string}, list: {type: array, items: {type: object, properties: {file: {type: string}}}}}}',
        ),
      ),
      [
        '3:50: The result has no field "sumary". Did you mean "summary"?',
        '3:87: Name a field of the result, for example "result.summary".',
      ],
    ],
    [
      'a schema of something else than an object',
      output('{properties: {}}', ', onSuccess: d'),
      ['3:45: A result must be an object: write "type: object".'],
    ],
    [
      'a schema with an unknown type',
      output('{type: object, properties: {n: {type: strng}}}', ', onSuccess: d'),
      [
        '3:83: "type" must be one of object, array, string, number, integer, boolean, null, or a list of them; found "strng". Did you mean "string"?',
      ],
    ],
    [
      'a keyword without a value',
      output('{type: object, properties: {n: {type: string, description: Why, in short}}}', ', onSuccess: d'),
      ['3:109: "in short" has no value; quote text that has commas in it.'],
    ],
    [
      'an outcome of criteria that is not there',
      output(
        '{type: object, properties: {outcome: {enum: [pass]}, criteria: {type: array, items: {type: object, properties: {criterion: {}, met: {}, evidence: {}}}}}}',
        ', criteria: {met: [pas]}, on: {pass: d}',
      ),
      ['3:217: Outcome "pas" is not in the enum of "outcome". Did you mean "pass"?'],
    ],
    [
      'a schema that would check nothing',
      output('{type: object, properties: {n: {properties: {}}}}', ', onSuccess: d'),
      ['3:76: A schema with "properties" needs "type: object".'],
    ],
    [
      'a required field that is not there',
      output('{type: object, required: [x], properties: {n: {type: string}}}', ', onSuccess: d'),
      ['3:71: "x" is required but not among the properties.'],
    ],
    [
      'outcomes that differ from the edges',
      phases(
        agent(
          ', on: {approve: d, changes: d}, onFailure: d, output: {type: object, properties: {outcome: {enum: [approve, reject]}}}',
        ),
        D,
      ),
      [
        '3:54: Outcome "changes" is not in the enum of "outcome".',
        '3:143: Outcome "reject" has no edge in "on".',
      ],
    ],
    [
      'an outcome of any text',
      output('{type: object, properties: {outcome: {type: string}}}', ', on: {approve: d}'),
      ['3:82: "outcome" must list its values with "enum".'],
    ],
    [
      'outcomes that equal the edges',
      output(
        '{type: object, properties: {outcome: {enum: [approve, failure]}}}',
        ', on: {approve: d}, onFailure: d',
      ),
      [],
    ],
    ['outcomes filled in from the edges', output('{type: object}', ', on: {approve: d, changes: d}'), []],
  ])('%s', async (_, text, expected) => {
    expect(await problemsOf(text, FILES)).toEqual(expected);
  });
});

describe('a workflow with a bad phase', () => {
  it('has its other phases checked, and no variable doubted', async () => {
    const text = phases(
      script(', foo: 1, capture: {x: stdout}, onSuccess: b'),
      '{id: b, type: agent, prompt: "{{ x }} {{ y | nope }}", onSuccess: c, onFailure: a}',
    );
    expect(await problemsOf(text, FILES)).toEqual([
      '3:42: Unknown key "foo".',
      '4:50: There is no filter "nope".',
      '4:71: There is no phase "c".',
    ]);
  });
});

describe('the shipped workflows', () => {
  it('have no problem', async () => {
    const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');
    const checked = await checkAll({ searchPath: searchPath(root) });
    expect(checked.map(({ name }) => name)).toContain('local');
    expect(checked.flatMap(({ problems }) => problems)).toEqual([]);
  });
});

describe('all workflows of the search path', () => {
  it('are checked file by file: user files hide bundled ones by name, a bad one hides none', async () => {
    const user = directory({
      'workflows/mine.yaml': `name: local\nphases:\n  - {id: done, type: terminal}`,
      'workflows/broken.yaml': 'phases: [',
      'workflows/again.yml': `name: local\nphases:\n  - {id: done, type: terminal}`,
    });
    const bundled = directory({
      'workflows/local.yaml': 'name: local\nphases:\n  - {id: a, type: script, command: none.sh}',
      'workflows/minimal.yaml': 'name: minimal\nphases:\n  - {id: done, type: terminal}',
    });
    const found = await checkAll({ searchPath: searchPath(user, bundled) });
    expect(
      found.map(({ file, name, problems, shadowedBy }) => ({
        file: file.replace(user, 'user').replace(bundled, 'bundled'),
        name,
        problems: problems.map(({ line, message }) => `${line}: ${message.replace(user, 'user')}`),
        hidden: shadowedBy !== undefined,
      })),
    ).toEqual([
      { file: 'user/workflows/again.yml', name: 'local', problems: [], hidden: false },
      {
        file: 'user/workflows/broken.yaml',
        name: 'broken',
        problems: ['1: Flow sequence in block collection must be sufficiently indented and end with a ].'],
        hidden: false,
      },
      {
        file: 'user/workflows/mine.yaml',
        name: 'local',
        problems: ['1: The name "local" is taken by user/workflows/again.yml, in the same directory.'],
        hidden: false,
      },
      {
        file: 'bundled/workflows/local.yaml',
        name: 'local',
        problems: ['3: There is no script "none.sh".'],
        hidden: true,
      },
      { file: 'bundled/workflows/minimal.yaml', name: 'minimal', problems: [], hidden: false },
    ]);
  });

  it('may hold a file that cannot be read', async () => {
    const root = directory({
      'workflows/good.yaml': 'phases:\n  - {id: done, type: terminal}',
      'workflows/x/y': '',
    });
    writeFileSync(join(root, 'workflows', 'bin.yaml'), Buffer.from([0xff, 0xfe, 0x00, 0x3a]));
    const found = await checkAll({ searchPath: searchPath(root, join(root, 'not-there')) });
    expect(found.map(({ name, problems }) => [name, problems.length > 0])).toEqual([
      ['bin', true],
      ['good', false],
    ]);
  });
});
