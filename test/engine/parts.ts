import { loadSettings } from '../../src/config/index.ts';
import type { Parts } from '../../src/engine/context.ts';
import { openParts } from '../../src/engine/open.ts';
import type { EngineEvent } from '../../src/model/events.ts';
import type { World } from '../support/index.ts';

/** An engine's parts inside the test's own process, for what cannot be timed from outside. */
export async function partsOf(
  world: World,
  listen: (event: EngineEvent) => void = () => undefined,
): Promise<Parts> {
  const env = world.env as Record<string, string>;
  const packageDir = new URL('../..', import.meta.url).pathname;
  const settings = await loadSettings({ cwd: world.dir, env, packageDir });
  return openParts({ settings, env, by: 'test', listen });
}
