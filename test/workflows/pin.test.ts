import { rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { PhaseOf } from '../../src/model/workflow.ts';
import { resolveWorkflow } from '../../src/workflows/find-and-check-workflow.ts';
import {
  pinWorkflow,
  readPinned,
  renderPhasePrompt,
} from '../../src/workflows/pin-workflow-and-render-prompts.ts';
import { directory, searchPath } from './helpers.ts';

const FILES = {
  'workflows/w.yaml': `name: w
phases:
  - {id: a, type: agent, promptTemplate: a.md, onSuccess: s}
  - {id: s, type: script, command: s.sh, onSuccess: i}
  - {id: i, type: agent, prompt: "{% render 'c.md' %}"}
`,
  'prompts/a.md': 'A {{ title }} {% include "b.md" %}',
  'prompts/b.md': 'B {% include "c.md" %}',
  'prompts/c.md': 'C {{ title }}',
  'prompts/unused.md': '{{ nonsense }}',
  'scripts/s.sh': '',
};

describe('a resolved workflow', () => {
  it('holds every prompt, included ones too, and every script', async () => {
    const root = directory(FILES);
    const pinned = await resolveWorkflow('w', searchPath(root));
    expect(pinned.workflow.phases.map(({ id }) => id)).toEqual(['a', 's', 'i']);
    expect(pinned.prompts).toEqual({
      'a.md': FILES['prompts/a.md'],
      'b.md': FILES['prompts/b.md'],
      'c.md': FILES['prompts/c.md'],
    });
    expect(pinned.scripts).toEqual({ 's.sh': join(root, 'scripts/s.sh') });
    expect(pinned.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each([
    'name: w # mine',
    'name:   w',
    '"name": w',
    "name: 'w'",
    'name: "\\x77"',
    'name: &n w',
    'name:\n  w',
    'name: !!str w',
    'description: |\n  name: other\nname: w',
  ])('is found by its name however the file writes it: %j', async (line) => {
    const root = directory({
      'workflows/x.yaml': `${line}\nphases:\n  - {id: a, type: agent, prompt: Work.}\n`,
      'workflows/y.yaml': 'name: v\nphases: 1\n',
    });
    expect((await resolveWorkflow('w', searchPath(root))).file).toBe(join(root, 'workflows/x.yaml'));
  });

  it('survives being written and read, and renders from what was kept when the files are gone', async () => {
    const root = directory(FILES);
    const pinned = await resolveWorkflow('w', searchPath(root));
    rmSync(root, { recursive: true });
    const kept = readPinned(pinned.text);
    expect(pinWorkflow(kept)).toEqual({ hash: pinned.hash, text: pinned.text });
    const [a, , i] = kept.workflow.phases;
    expect(await renderPhasePrompt(kept, a as PhaseOf<'agent'>, { title: 'T' })).toBe('A T B C T');
    expect(await renderPhasePrompt(kept, i as PhaseOf<'agent'>, { title: 'T' })).toBe('C T');
  });

  it('has a hash of its content, not of how the file is written', async () => {
    const root = directory(FILES);
    const path = searchPath(root);
    const { hash } = await resolveWorkflow('w', path);
    const file = join(root, 'workflows/w.yaml');
    const rewritten = FILES['workflows/w.yaml'].replace(
      '{id: s, type: script, command: s.sh,',
      '{command: s.sh, type: script, id: s,',
    );
    writeFileSync(file, `# a comment\n${rewritten}`);
    expect((await resolveWorkflow('w', path)).hash).toBe(hash);
    writeFileSync(file, FILES['workflows/w.yaml'].replace('onSuccess: i', 'onSuccess: i, timeoutSeconds: 5'));
    expect((await resolveWorkflow('w', path)).hash).not.toBe(hash);
    writeFileSync(file, FILES['workflows/w.yaml']);
    writeFileSync(join(root, 'prompts/c.md'), 'changed');
    expect((await resolveWorkflow('w', path)).hash).not.toBe(hash);
    writeFileSync(join(root, 'prompts/unused.md'), 'changed');
    writeFileSync(join(root, 'prompts/c.md'), FILES['prompts/c.md']);
    expect((await resolveWorkflow('w', path)).hash).toBe(hash);
  });

  it('is kept while no file changes', async () => {
    const root = directory(FILES);
    const path = searchPath(root);
    for (const file of Object.keys(FILES)) utimesSync(join(root, file), 1_000_000, 1_000_000);
    const first = await resolveWorkflow('w', path);
    expect(await resolveWorkflow('w', path)).toBe(first);
    utimesSync(join(root, 'prompts/b.md'), 1_000_001, 1_000_001);
    expect(await resolveWorkflow('w', path)).not.toBe(first);
  });

  it('is read once for all who ask at the same time', async () => {
    const path = searchPath(directory(FILES));
    const [one, two] = await Promise.all([resolveWorkflow('w', path), resolveWorkflow('w', path)]);
    expect(one).toBe(two);
  });

  it('takes user files over bundled ones, each by itself and as soon as they are there', async () => {
    const bundled = directory(FILES);
    const user = directory({ 'prompts/other.md': '' });
    expect((await resolveWorkflow('w', searchPath(user, bundled))).prompts['c.md']).toBe(
      FILES['prompts/c.md'],
    );
    writeFileSync(join(user, 'prompts/c.md'), 'my C');
    const pinned = await resolveWorkflow('w', searchPath(user, bundled));
    expect(pinned.prompts['c.md']).toBe('my C');
    expect(pinned.prompts['b.md']).toBe(FILES['prompts/b.md']);
    expect(pinned.file).toBe(join(bundled, 'workflows/w.yaml'));
  });

  it('is refused with all its problems', async () => {
    const root = directory({ ...FILES, 'scripts/s.sh': '', 'prompts/c.md': '{{ titel }}' });
    rmSync(join(root, 'scripts/s.sh'));
    await expect(resolveWorkflow('w', searchPath(root))).rejects.toMatchObject({
      code: 'workflow/invalid',
      message: [
        'Workflow "w" has 2 problems:',
        `${root}/workflows/w.yaml:4:36: There is no script "s.sh".`,
        `    Looked in ${root}/scripts.`,
        `${root}/prompts/c.md:1:4: Unknown variable "titel". Did you mean "title"?`,
        '    Variables are those of the ticket, the plan and the phase, and what earlier phases capture; see docs/prompts.md.',
      ].join('\n'),
      details: { problems: [{ line: 4 }, { line: 1 }] },
    });
  });

  it('is refused when two files of one directory have its name', async () => {
    const root = directory({ ...FILES, 'workflows/z.yaml': FILES['workflows/w.yaml'] });
    await expect(resolveWorkflow('w', searchPath(root))).rejects.toThrow(
      /z\.yaml:1:7: The name "w" is taken by .*w\.yaml/,
    );
  });

  it('is not hidden by a broken neighbour, and a name nobody has is answered with the known ones', async () => {
    const root = directory({ ...FILES, 'workflows/local.yaml': 'phases: [' });
    expect((await resolveWorkflow('w', searchPath(root))).workflow.name).toBe('w');
    await expect(resolveWorkflow('locla', searchPath(root))).rejects.toMatchObject({
      code: 'workflow/unknown',
      message: 'There is no workflow "locla". Did you mean "local"?',
      hint: 'Workflows: local, w.',
    });
    await expect(resolveWorkflow('local', searchPath(root))).rejects.toMatchObject({
      code: 'workflow/invalid',
    });
    await expect(resolveWorkflow('w', searchPath(directory({})))).rejects.toMatchObject({
      hint: expect.stringMatching(/^There is none in /),
    });
  });

  it.each(['', '{}', '{"v":2}', '{"v":1,"workflow":{}}'])('kept as %j is refused', (text) => {
    expect(() => readPinned(text)).toThrow(/A stored workflow cannot be read/);
  });
});
