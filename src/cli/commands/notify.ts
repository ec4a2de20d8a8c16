import { tryPlaces } from '../../features/notifications/notify.ts';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openEngine } from '../open.ts';

export async function notifyTest(io: Io, options: GlobalOptions): Promise<void> {
  const places = await tryPlaces(await openEngine(io, options, 'notify'));
  const ok = places.length > 0 && places.every((each) => each.ok);
  if (!ok) io.exit(1);
  if (options.json) return outJson(io, { ok, places });
  for (const each of places) io.out(each.ok ? `✓ ${each.label}` : `✗ ${each.error}`);
  if (places.length === 0)
    io.err('No place is configured. Set notify.desktop, notify.command or notify.webhook.');
}
