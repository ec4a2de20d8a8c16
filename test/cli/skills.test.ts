import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { InstalledSkill } from '../../src/workflows/install-skills.ts';
import { it } from './support.ts';

const NAME = 'sequential-orchestration';
const PLACES = ['.claude/skills', '.agents/skills'].map((place) => `${place}/${NAME}`);

describe.concurrent('skills install', () => {
  it('copies the bundled skills to where agents look, once', async ({ world }) => {
    const install = () => world.json<InstalledSkill[]>('skills', 'install', NAME, '--dir', world.repo);
    const dids = (done: InstalledSkill[]) => done.map(({ did }) => did);
    expect(dids(await install())).toEqual(['installed', 'installed']);
    for (const place of PLACES) {
      const text = readFileSync(join(world.repo, place, 'SKILL.md'), 'utf8');
      expect(text).toMatch(/^---\nname: sequential-orchestration\ndescription: .*rate limit, overnight run/);
    }
    expect(dids(await install())).toEqual(['unchanged', 'unchanged']);
  });

  it('keeps what was changed there, unless it is forced', async ({ world }) => {
    await world.cli('skills', 'install', NAME, '--user');
    const file = join(world.dir, 'user', PLACES[0] ?? '', 'SKILL.md');
    writeFileSync(file, 'mine\n');
    expect((await world.cli('skills', 'install', NAME, '--user')).out).toMatch(
      /^kept .*\nunchanged .*\n.*--force/,
    );
    expect(readFileSync(file, 'utf8')).toBe('mine\n');
    expect((await world.cli('skills', 'install', NAME, '--user', '--force')).out).toMatch(/^updated/);
  });

  it('refuses a name that it does not know', async ({ world }) => {
    const { code, err } = await world.cli(
      'skills',
      'install',
      'sequential-orchestratio',
      '--dir',
      world.repo,
    );
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('Did you mean') });
    expect(existsSync(join(world.repo, '.claude'))).toBe(false);
  });
});
