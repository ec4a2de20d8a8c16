import { findStoreAddress } from '../../config/find-config-and-state.ts';
import { InputError } from '../../model/errors.ts';
import { refKey } from '../../model/ids-and-branch-names.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { table } from '../../report/tables-and-text-wrapping.ts';
import { answer, type Io } from '../io.ts';
import type { GlobalOptions } from '../open-settings-store-and-engine.ts';
import { openEngine, openState, storeAddress } from '../open-settings-store-and-engine.ts';

/** Makes the schemas of a store, or brings them up to date, and prints who needs which rights. */
export async function fleetInit(io: Io, options: GlobalOptions, given: string | undefined): Promise<void> {
  const { env, cwd } = io;
  const address =
    given === undefined ? storeAddress(io, options) : findStoreAddress({ env, cwd, argument: given });
  if (!address)
    throw new InputError('usage', 'Name the address of the store.', {
      hint: 'signalbox fleet init postgres://owner@host/database   (the password by PGPASSWORD or PGPASSFILE)',
    });
  const { initFleet } = await import('../../store/postgres/init-fleet.ts');
  const made = await initFleet({ address, env, cwd });
  const step = (name: string, { from, to }: { from: number; to: number }) =>
    from === to
      ? `${name}: version ${to}, as it was.`
      : `${name}: ${from === 0 ? 'made' : `version ${from} →`} version ${to}.`;
  answer(io, options, made, [
    `${made.store} is ready.`,
    step('Plans and tickets (schema signalbox)', made.schema),
    step('Queue (schema signalbox_queue)', made.queue),
    '',
    'Rights, to be given once by the owner, for example with psql:',
    ...Object.entries(made.grants).flatMap(([role, lines]) => [
      '',
      `-- ${ROLES[role as keyof typeof ROLES]}`,
      ...lines,
    ]),
    '',
    'Then, for each member, in psql: create role anna login in role signalbox_person;',
    '  (signalbox_worker if that login also runs a worker or daemon)',
    '  and, so that no argument or log has the password: \\password anna',
    'Use the store with SIGNALBOX_STORE, or with a file that only you can read:',
    `  (umask 077; cat > ~/.signalbox/store-address)   # one line: postgres://anna:password@host/database`,
  ]);
}

const ROLES = {
  worker: 'Workers: drive tickets',
  person: 'People: make plans and give commands',
  viewer: 'Viewers: read only',
};

/** The part of the store that many machines need. */
async function openFleet(io: Io, options: GlobalOptions) {
  const { store, view } = await openState(io, options, (state) => state.glance());
  const { fleet } = store;
  if (!fleet)
    throw new InputError('fleet/none', 'Plans are files here, so there is no fleet.', {
      hint: 'Name the store with SIGNALBOX_STORE or --store.',
    });
  return { fleet, view };
}

/** Workers, what each of them drives, and when it was last seen. */
export async function fleetStatus(io: Io, options: GlobalOptions): Promise<void> {
  const { fleet, view } = await openFleet(io, options);
  const all = [...view.tickets.values()];
  const workers = fleet.workers().map(({ token, pid, isElsewhere, leaseLeft, silentFor, ...worker }) => ({
    ...worker,
    state: leaseLeft <= 0 ? 'gone' : worker.draining ? 'draining' : 'at work',
    seenSecondsAgo: Math.round(silentFor / 1000),
    leaseSecondsLeft: Math.round(leaseLeft / 1000),
    drives: all.flatMap((ticket) => (ticket.claim?.token === token ? [refKey(ticket)] : [])),
  }));
  const rows = workers.map(({ id, state, version, slots, labels, drives, seenSecondsAgo }) => [
    id,
    state,
    version,
    `${drives.length}/${slots}`,
    labels.join(','),
    Number.isFinite(seenSecondsAgo) ? `${seenSecondsAgo}s ago` : '–',
    drives.join(' '),
  ]);
  const header = ['worker', 'state', 'version', 'slots', 'labels', 'seen', 'drives'];
  const none = ['No worker is known. Start one: signalbox worker'];
  answer(io, options, workers, rows.length > 0 ? table(header, rows, io.style) : none);
}

/** The worker takes no more tickets and ends when its phases have ended. */
export async function fleetDrain(io: Io, options: GlobalOptions, id: string): Promise<void> {
  const { fleet } = await openFleet(io, options);
  if (!(await fleet.drain(id))) throw unknownWorker(id, fleet.workers());
  answer(
    io,
    options,
    { id, draining: true },
    `Worker ${id} takes no more tickets, and ends when its phases have ended.`,
  );
}

/** Forgets a worker that is gone. Its tickets can be taken at once. */
export async function fleetRemove(io: Io, options: GlobalOptions, id: string): Promise<void> {
  const { fleet } = await openFleet(io, options);
  if (!(await fleet.remove(id))) throw unknownWorker(id, fleet.workers());
  answer(io, options, { id, removed: true }, `Worker ${id} is forgotten.`);
}

function unknownWorker(id: string, workers: readonly { id: string }[]): InputError {
  const ids = workers.map((each) => each.id).join(', ');
  return new InputError('worker/unknown', `There is no worker "${id}".`, {
    hint: ids ? `Workers: ${ids}` : 'No worker is known.',
  });
}

/** Moves plans: `import` from the state directory into the store of the fleet, `export` back into files. */
export const moveBetweenStores =
  (how: 'import' | 'export') => async (io: Io, options: GlobalOptions, ids: string[]) => {
    const address = storeAddress(io, options);
    if (!address)
      throw new InputError('usage', 'Name the store of the fleet.', {
        hint: `SIGNALBOX_STORE=postgres://user:password@host/database signalbox fleet ${how}`,
      });
    const [{ fetchFinished, handOverBegun, movePlans, refuseElsewhere }, { openStore }, engine] =
      await Promise.all([
        import('../../features/plans/move-plans-between-stores.ts'),
        import('../../store/open-file-store-with-schemas.ts'),
        openEngine(io, options, 'fleet'),
      ]);
    const { stateDir } = engine.settings;
    const { store: fleet } = engine;
    const files = openStore(stateDir);
    const [from, to] = how === 'import' ? [files, fleet] : [fleet, files];
    const open = () => from.view().plans.flatMap(({ id, status }) => (status === 'archived' ? [] : [id]));
    const wanted = ids.length > 0 ? ids : open();
    // Before any is moved.
    if (how === 'export') for (const id of wanted) refuseElsewhere(engine, fleet.plan(id));
    const carry = how === 'import' ? handOverBegun : fetchFinished;
    await movePlans(from, to, wanted, (plan, tickets) => carry(engine, plan, tickets));
    const place = how === 'import' ? fleet.location() : stateDir;
    answer(io, options, { plans: wanted, to: place }, [
      wanted.length === 0
        ? 'There is no plan that is not archived.'
        : `${plural(wanted.length, 'plan')} moved to ${place}: ${wanted.join(', ')}. What is left here is archived.`,
    ]);
  };
