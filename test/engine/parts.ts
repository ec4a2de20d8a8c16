import { openEngine } from '../../src/api/open-engine-with-features.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { EngineContext } from '../../src/engine/context.ts';
import type { EngineEvent } from '../../src/model/events.ts';
import type { Store } from '../../src/store/store-interface.ts';
import type { World } from '../support/index.ts';

/** An engine's parts inside the test's own process, for what cannot be timed from outside. */
export async function partsOf(
  world: World,
  listen: (event: EngineEvent) => void = () => undefined,
  store?: Store,
): Promise<EngineContext> {
  const env = world.env as Record<string, string>;
  const packageDir = new URL('../..', import.meta.url).pathname;
  const settings = await loadSettings({ cwd: world.dir, env, packageDir });
  return openEngine({ settings, env, by: 'test', listen, store });
}
