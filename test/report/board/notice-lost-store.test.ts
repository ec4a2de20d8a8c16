import { renameSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { refreshSoon, StoreConnection } from '../../../src/report/board/notice-lost-store.ts';
import { FileStore } from '../../../src/store/file-store.ts';
import { it } from '../../support/index.ts';

describe('a state directory', () => {
  it('that is moved away is no empty one', async ({ world }) => {
    const store = new FileStore(world.stateDir);
    const connection = new StoreConnection(store, () => undefined);
    // Nothing was written yet.
    connection.refuseIfLost();
    await refreshSoon(store);
    world.plan('p', { tickets: { a: {} } });
    connection.refuseIfLost();
    const away = `${world.stateDir}-away`;
    renameSync(world.stateDir, away);
    const says = `The directory ${store.location()} is missing.`;
    expect(() => connection.refuseIfLost()).toThrow(says);
    await expect(refreshSoon(store)).rejects.toMatchObject({ code: 'state/storage', message: says });
    renameSync(away, world.stateDir);
    connection.refuseIfLost();
    expect(store.glance().plans.map(({ id }) => id)).toEqual(['p']);
    connection.close();
  });
});
