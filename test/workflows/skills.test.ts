import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { listSkills } from '../../src/workflows/install-skills.ts';
import { scratch } from '../issues/scratch.ts';

function skill(root: string, path: string, text?: string): void {
  const file = join(root, path, 'SKILL.md');
  mkdirSync(dirname(file), { recursive: true });
  const name = path.split('/').at(-1);
  writeFileSync(file, text ?? `---\nname: ${name}\ndescription: >-\n  About\n  ${path}.\n---\n\n# ${name}\n`);
}

it('finds skills however deep, the first directory first', async () => {
  const [mine, bundled] = [scratch(), scratch()];
  skill(bundled, 'planner');
  skill(bundled, 'providers/linear');
  skill(bundled, '.hidden');
  skill(mine, 'house/planner');
  const found = await listSkills([mine, bundled, join(mine, 'nothing-here')]);
  expect(found.map(({ name, description, dir }) => [name, description, dir])).toEqual([
    ['linear', 'About providers/linear.', join(bundled, 'providers/linear')],
    ['planner', 'About house/planner.', join(mine, 'house/planner')],
  ]);
});

it.each([
  ['no front matter', '# Planner\n'],
  ['no description', '---\nname: planner\n---\n'],
  ['a name that is a path', '---\nname: ../planner\ndescription: x\n---\n'],
])('refuses one with %s and says how it begins', async (_what, text) => {
  const dir = scratch();
  skill(dir, 'planner', text);
  await expect(listSkills([dir])).rejects.toMatchObject({
    code: 'skill/front-matter',
    message: expect.stringContaining(`${dir}/planner/SKILL.md:1: `),
    hint: expect.stringContaining('name: planner'),
  });
});
