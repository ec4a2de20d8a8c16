import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CliCall } from '../support/cli-call.ts';
import { directory } from './helpers.ts';

const FILES = {
  'workflows/mine.yaml': `name: mine
description: does it
phases:
  - {id: work, type: agent, promptTemplate: work.md, onSuccess: check}
  - {id: check, type: script, command: mine.sh}
`,
  'prompts/work.md': 'Do {{ title }}.',
  'scripts/mine.sh': '',
};
const BAD = `name: bad
phases:
  - {id: a, type: script, command: mine.sh, onSucess: b}
  - {id: b, type: agent, prompt: "{{ titel }}", onSuccess: c}
`;

/** Runs `signalbox workflow …` in a home with these files. */
async function run(files: Record<string, string>, ...args: string[]) {
  const home = directory(files);
  const env = { HOME: home, SIGNALBOX_HOME: home };
  const { out, err, code } = await new CliCall(['workflow', ...args], { cwd: home, env }).ended;
  return { out: out + err, code, home };
}

describe('workflow list', () => {
  it('names each workflow with what it does and where it is', async () => {
    const { out, home } = await run({ ...FILES, 'workflows/bad.yaml': BAD }, 'list');
    expect(out).toMatch(new RegExp(`^mine +does it  \\(${home}/workflows/mine.yaml\\)$`, 'm'));
    expect(out).toMatch(/^bad +has problems: run `signalbox workflow check`/m);
  });

  it('is JSON on demand', async () => {
    const { out, home } = await run(FILES, 'list', '--json');
    expect(JSON.parse(out)).toContainEqual({
      name: 'mine',
      description: 'does it',
      tags: [],
      file: join(home, 'workflows/mine.yaml'),
      shadowedBy: null,
      readable: true,
    });
  });
});

describe('workflow show and graph', () => {
  it('show phases, prompts and scripts', async () => {
    const { out, home } = await run(FILES, 'show', 'mine');
    expect(out).toBe(`mine: does it
${home}/workflows/mine.yaml

▶ work   agent   ─ success → check
                 ─ failure → (failed)
  check  script  ─ success → (complete)
                 ─ failure → (failed)

Prompts
  work.md  ${home}/prompts/work.md

Scripts
  mine.sh  ${home}/scripts/mine.sh
`);
  });

  it('are JSON on demand', async () => {
    const shown = JSON.parse((await run(FILES, 'show', 'mine', '--json')).out);
    expect(shown).toMatchObject({
      name: 'mine',
      workflow: { name: 'mine' },
      prompts: { 'work.md': 'Do {{ title }}.' },
    });
    expect(shown.hash).toMatch(/^[0-9a-f]{64}$/);
    const drawn = JSON.parse((await run(FILES, 'graph', 'mine', '--json')).out);
    expect(Object.keys(drawn)).toEqual(['name', 'mermaid', 'drawing']);
  });

  it('draw for the terminal and as Mermaid', async () => {
    expect((await run(FILES, 'graph', 'mine')).out).toMatch(/^▶ work {3}agent {3}─ success → check\n/);
    expect((await run(FILES, 'graph', 'mine', '--mermaid')).out).toMatch(
      /^flowchart TD\n {2}p0\(\["work<br\/>agent"\]\)\n/,
    );
  });

  it('refuse a name nobody has with the nearest one', async () => {
    expect((await run(FILES, 'show', 'mien')).out).toContain(
      'There is no workflow "mien". Did you mean "mine"?',
    );
  });
});

describe('workflow check', () => {
  it('prints every problem at its place with what to do, and fails', async () => {
    const { out, code, home } = await run({ ...FILES, 'workflows/bad.yaml': BAD }, 'check');
    expect(code).toBe(1);
    expect(out).toContain(`${home}/workflows/bad.yaml:3:45: Unknown key "onSucess". Did you mean "onSuccess"?
    Keys of a script phase: `);
    expect(out).toContain(`${home}/workflows/bad.yaml:4:60: There is no phase "c".
    Phases: a, b.
`);
    expect(out).toMatch(/\n2 problems\.\n$/);
  });

  it('looks at one file or one name alone', async () => {
    const files = { ...FILES, 'workflows/bad.yaml': BAD, 'elsewhere/draft.yaml': BAD };
    expect(await run(files, 'check', 'mine')).toMatchObject({ code: 0, out: 'No problems in mine.\n' });
    const { code, out } = await run(files, 'check', 'elsewhere/draft.yaml', '--json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject([
      {
        file: 'elsewhere/draft.yaml',
        name: 'bad',
        problems: [
          { line: 3, column: 45 },
          { line: 4, column: 60 },
        ],
      },
    ]);
    expect((await run(files, 'check', 'bda')).out).toContain(
      'There is no workflow "bda". Did you mean "bad"?',
    );
  });
});
