import type { PaneCommand } from '../../machine/tmux/session.ts';
import type { TicketRef } from '../../model/ids.ts';
import type { TmuxViewOptions } from './view.ts';

const VARIABLES = /^(HOME|PATH|LANG|LC_\w+|TZ|NO_COLOR|SIGNALBOX_HOME|SIGNALBOX_CONFIG)$/;

/** What a ticket's window runs. Panes have the server's variables, not ours: it gets those it needs and no others. */
export function followerOf(
  { env, cli, cwd, stateDir }: Pick<TmuxViewOptions, 'env' | 'cli' | 'cwd' | 'stateDir'>,
  { planId, ticketId }: TicketRef,
): PaneCommand {
  const kept = Object.entries(env).filter(([name]) => VARIABLES.test(name));
  const variables = [...kept, ['SIGNALBOX_STATE_DIR', stateDir]].map(([name, value]) => `${name}=${value}`);
  const words = ['logs', planId, ticketId, '--follow', '--until-rest'];
  return { cwd, argv: ['env', '-i', ...variables, ...cli, ...words] };
}
