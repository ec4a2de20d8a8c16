import type { CommandWords, OptionsOf } from './definitions/commands-and-their-options.ts';
import type { Io } from './io.ts';

const logs = () => import('./commands/attach-and-logs.ts');
const cancel = () => import('./commands/cancel-and-clean.ts');
const config = () => import('./commands/config-init-notify.ts');
const ticket = () => import('./commands/control-tickets-and-plans.ts');
const daemon = () => import('./commands/daemon-and-tick.ts');
const fleet = () => import('./commands/fleet.ts');
const sessions = () => import('./commands/list-and-resume-sessions.ts');
const forge = () => import('./commands/merge-and-forge.ts');
const plan = () => import('./commands/plan.ts');
const spec = () => import('./commands/spec.ts');
const reports = () => import('./commands/stats-and-report.ts');
const workflow = () => import('./commands/workflow-and-skills.ts');
const workspace = () => import('./commands/workspace-checks-integrate-diff.ts');

/** What does the work of each command, loaded when it is called: it gets the options, then the arguments in their order. */
export const FUNCTIONS: {
  readonly [W in CommandWords]?: () => Promise<(io: Io, options: OptionsOf<W>, ...args: never[]) => unknown>;
} = {
  run: async () => (await import('./commands/run.ts')).run,
  spec: async () => (await spec()).specRun,
  'spec tick': async () => (await spec()).specTick,
  'spec check': async () => (await spec()).specCheck,
  daemon: async () => (await daemon()).daemonStart,
  'daemon status': async () => (await daemon()).daemonStatus,
  'daemon stop': async () => (await daemon()).daemonStop,
  tick: async () => (await daemon()).tick,
  merge: async () => (await forge()).merge,
  status: async () => (await import('./commands/status.ts')).status,
  top: async () => (await import('./commands/top.ts')).top,
  logs: async () => (await logs()).logs,
  attach: async () => (await logs()).attach,
  diff: async () => (await workspace()).diff,
  web: async () => (await import('./commands/web.ts')).web,
  report: async () => (await reports()).report,
  pause: async () => (await ticket()).pause,
  retry: async () => (await ticket()).retry,
  skip: async () => (await ticket()).skip,
  respond: async () => (await ticket()).respond,
  resume: async () => (await ticket()).resume,
  stop: async () => (await ticket()).stop,
  cancel: async () => (await cancel()).cancel,
  'pause-plan': async () => (await ticket()).pausePlan,
  'resume-plan': async () => (await ticket()).resumePlan,
  sessions: async () => (await sessions()).listSessions,
  'resume-session': async () => (await sessions()).resumeSession,
  'plan list': async () => (await plan()).planList,
  'plan show': async () => (await plan()).planShow,
  'plan check': async () => (await plan()).planCheck,
  'plan approve': async () => (await plan()).planApprove,
  'plan archive': async () => (await plan()).planArchive,
  'plan delete': async () => (await plan()).planDelete,
  'plan new': async () => (await plan()).planNew,
  'plan add': async () => (await plan()).planAdd,
  'plan edit': async () => (await plan()).planEdit,
  'plan remove': async () => (await plan()).planRemove,
  interactive: async () => (await import('./commands/interactive.ts')).interactive,
  import: async () => (await import('./commands/print-work-items.ts')).importItems,
  'workflow list': async () => (await workflow()).workflowList,
  'workflow show': async () => (await workflow()).workflowShow,
  'workflow check': async () => (await workflow()).workflowCheck,
  'workflow graph': async () => (await workflow()).workflowGraph,
  'skills list': async () => (await workflow()).skillsList,
  'skills install': async () => (await workflow()).skillsInstall,
  init: async () => (await config()).init,
  config: async () => (await config()).configShow,
  'config path': async () => (await config()).configPath,
  'config trust': async () => (await config()).configTrust,
  doctor: async () => (await import('./commands/doctor-and-overview.ts')).doctor,
  stats: async () => (await reports()).stats,
  clean: async () => (await cancel()).clean,
  'workspace ensure': async () => (await workspace()).workspaceEnsure,
  'workspace release': async () => (await workspace()).workspaceRelease,
  checks: async () => (await workspace()).checks,
  integrate: async () => (await workspace()).integrate,
  'forge pr': async () => (await forge()).githubCommand('pull-request'),
  'forge review': async () => (await forge()).githubCommand('pull-request-review'),
  'forge poll': async () => (await forge()).githubCommand('pull-request-poll'),
  'forge push': async () => (await forge()).githubCommand('push-branch'),
  'forge sync': async () => (await forge()).githubCommand('sync-branch'),
  'forge answer': async () => (await forge()).githubCommand('answer-review'),
  'forge comment': async () => (await forge()).githubCommand('comment'),
  'forge merge': async () => (await forge()).githubCommand('merge-pull-request'),
  'forge budget': async () => (await forge()).forgeBudget,
  'notify test': async () => (await config()).notifyTest,
  worker: async () => (await import('./commands/worker.ts')).worker,
  'fleet init': async () => (await fleet()).fleetInit,
  'fleet status': async () => (await fleet()).fleetStatus,
  'fleet drain': async () => (await fleet()).fleetDrain,
  'fleet remove': async () => (await fleet()).fleetRemove,
  'fleet import': async () => (await fleet()).moveBetweenStores('import'),
  'fleet export': async () => (await fleet()).moveBetweenStores('export'),
};
