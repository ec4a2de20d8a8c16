import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { EngineContext } from '../../../src/engine/context.ts';
import { workspaceFor } from '../../../src/engine/work-out-workspace-and-repository.ts';
import { findLanded, type Work, whereIsWork } from '../../../src/features/landed/find-landed-work.ts';
import { complete } from '../../cli/merge-world.ts';
import { partsOf } from '../../engine/parts.ts';
import { git, it, type World } from '../../support/index.ts';

const REF = { planId: 'p', ticketId: 'a' };

async function finished(world: World) {
  complete(world, { a: { files: { 'a.txt': 'a' } } });
  const parts = await partsOf(world);
  return { parts, work: workOf(parts, git(world.repo, 'rev-parse', 'ticket/p/a')) };
}

function workOf({ store, settings }: EngineContext, commit: string): Work {
  const ticket = store.ticket(REF);
  const spec = workspaceFor(ticket, store.plan('p'), settings, store.view());
  return { ...spec, tickets: [ticket], commit };
}

/** The base gets the work as one commit, and another one after it. */
function squash({ repo }: World): void {
  git(repo, 'merge', '--quiet', '--squash', 'ticket/p/a');
  git(repo, 'commit', '--quiet', '--message=squashed');
  writeFileSync(join(repo, 'a.txt'), 'a, changed later');
  git(repo, 'commit', '--quiet', '--all', '--message=later');
}

describe('landed', () => {
  it('is null while only the branch has the work', async ({ world }) => {
    const { parts, work } = await finished(world);
    expect(await findLanded(parts, work)).toBeNull();
  });

  it('finds commits in the history of the base', async ({ world }) => {
    const { parts, work } = await finished(world);
    git(world.repo, 'merge', '--quiet', '--no-ff', '--no-edit', 'ticket/p/a');
    expect(await findLanded(parts, work)).toEqual({ how: 'history', where: 'main' });
  });

  it('finds changes that came by another commit, unless only other ways are asked for', async ({ world }) => {
    const { parts, work } = await finished(world);
    squash(world);
    expect(await findLanded(parts, work)).toEqual({ how: 'changes', where: 'main' });
    expect(await findLanded(parts, work, ['record', 'history'])).toBeNull();
  });

  it('believes a recorded merge of exactly this commit without asking git', async ({ world }) => {
    const { parts, work } = await finished(world);
    const dir = join(world.stateDir, 'jobs', 'p', 'a');
    const lines = [
      { what: 'merge', state: 'intent', commit: work.commit },
      { what: 'merge', state: 'done' },
    ];
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, 'forge.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    expect(await findLanded(parts, work)).toEqual({ how: 'record', where: 'main' });
    const later = git(world.repo, 'rev-parse', 'main');
    expect(await findLanded(parts, { ...work, commit: later }, ['record'])).toBeNull();
  });
});

describe('whereIs', () => {
  it('says branch, merged, kept or gone', async ({ world }) => {
    const { parts, work } = await finished(world);
    const at = () => whereIsWork(parts, { ...parts.store.ticket(REF), tip: work.commit }, work);
    expect(await at()).toBe('branch');
    git(world.repo, 'branch', '--quiet', '--move', 'ticket/p/a', 'elsewhere');
    expect(await at()).toBe('kept');
    git(world.repo, 'branch', '--quiet', '-D', 'elsewhere');
    expect(await at()).toBe('gone');
    git(world.repo, 'merge', '--quiet', '--squash', work.commit);
    git(world.repo, 'commit', '--quiet', '--message=squashed');
    expect(await at()).toBe('merged');
  });
});
