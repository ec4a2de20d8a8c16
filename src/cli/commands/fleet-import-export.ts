import { fetchFinished, handOverBegun, movePlans } from '../../features/plans/copy-plan-between-stores.ts';
import { InputError } from '../../model/errors.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { openStore } from '../../store/open-store.ts';
import type { Store } from '../../store/store-interface.ts';
import { answer, type Io } from '../io.ts';
import { type GlobalOptions, openEngine, storeAddress } from '../open-state-and-find-named-tickets.ts';

/** Brings plans of the state directory into the store of the fleet. */
export async function fleetImport(io: Io, options: GlobalOptions, ids: string[]): Promise<void> {
  await move(io, options, ids, 'import');
}

/** Writes plans of the fleet back as files. */
export async function fleetExport(io: Io, options: GlobalOptions, ids: string[]): Promise<void> {
  await move(io, options, ids, 'export');
}

async function move(io: Io, options: GlobalOptions, ids: string[], how: 'import' | 'export'): Promise<void> {
  const address = storeAddress(io, options);
  if (!address)
    throw new InputError('usage', 'Name the store of the fleet.', {
      hint: `SIGNALBOX_STORE=postgres://user:password@host/database signalbox fleet ${how}`,
    });
  const engine = await openEngine(io, options, 'fleet');
  const { stateDir } = engine.settings;
  const { store: fleet } = engine;
  const files = openStore(stateDir);
  const [from, to]: [Store, Store] = how === 'import' ? [files, fleet] : [fleet, files];
  const open = () => from.view().plans.flatMap(({ id, status }) => (status === 'archived' ? [] : [id]));
  const wanted = ids.length > 0 ? ids : open();
  const carry = how === 'import' ? handOverBegun : fetchFinished;
  await movePlans(from, to, wanted, (plan, tickets) => carry(engine, plan, tickets));
  const place = how === 'import' ? fleet.location() : stateDir;
  answer(io, options, { plans: wanted, to: place }, [
    wanted.length === 0
      ? 'There is no plan that is not archived.'
      : `${plural(wanted.length, 'plan')} moved to ${place}: ${wanted.join(', ')}. What is left here is archived.`,
  ]);
}
