import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { shipOutput } from '../../../src/engine/fleet/store-output-and-sessions-for-other-machines.ts';
import type { OutputLog, OutputPiece } from '../../../src/store/store-interface.ts';
import { attempt, ticket } from '../../model/build.ts';
import { it, type World, waitFor } from '../../support/index.ts';
import { partsOf } from '../parts.ts';

const KEY = 'ghp_0123456789012345678901234567890123456789';

/** An engine whose store keeps output in memory, and the job whose files it reads. */
async function shipping(world: World) {
  const pieces: OutputPiece[] = [];
  const output: OutputLog = {
    begin: async () => true,
    add: async (_ref, _attempt, _token, more) => {
      pieces.push(...more);
      return true;
    },
    after: () => [],
    ends: async () => [],
    deleteBefore: async () => undefined,
  };
  const engine = await partsOf(world);
  Object.assign(engine.store, { output });
  const [of, run] = [ticket({ planId: 'p', ticketId: 'a' }), attempt('build', 'running')];
  const dir = engine.machine.job(of, run);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'command.json'), JSON.stringify({ agent: { adapter: 'custom' } }));
  const text = (stream: string) =>
    pieces.flatMap((piece) => (piece.stream === stream ? piece.text : [])).join('');
  return { dir, pieces, text, finish: shipOutput(engine, of, run) };
}

describe('output that is stored for other machines', () => {
  it('has no secrets, also where one comes in two parts, and ends with what has no line end', async ({
    world,
  }) => {
    const { dir, text, finish } = await shipping(world);
    const stdout = join(dir, 'stdout');
    writeFileSync(stdout, `first\nkey ${KEY.slice(0, 20)}`);
    await waitFor('the first line', () => text('stdout') === 'first\n');
    appendFileSync(stdout, `${KEY.slice(20)}\nlast`);
    writeFileSync(join(dir, 'stderr'), 'aside\n');
    await finish();
    expect(text('stdout')).toBe('first\nkey [redacted]\nlast');
    expect(text('stderr')).toBe('aside\n');
    expect(text('adapter')).toBe('custom');
  });

  it('has rows of at most 64 KB and a limit for each attempt, behind which it says where the rest is', async ({
    world,
  }) => {
    const { dir, pieces, text, finish } = await shipping(world);
    writeFileSync(join(dir, 'stdout'), `${'€'.repeat(999)}\n`.repeat(6000));
    await finish();
    expect(Math.max(...pieces.map((piece) => Buffer.byteLength(piece.text)))).toBeLessThanOrEqual(64 * 1024);
    expect(text('stdout').length).toBeLessThan(4.1 * 1024 * 1024);
    expect(text('stdout')).toContain(`… the rest is only on `);
    expect(text('stdout')).toContain(dir);
  });
});
