import type { Command } from 'commander';
import type { EngineContext } from '../../engine/context.ts';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openEngine } from '../open.ts';

type Action = (plan: string, ticket: string, rest: string[], options: GlobalOptions) => Promise<void>;

/** What a person does to one ticket, or to a whole plan. */
export function registerTicket(program: Command, io: Io): void {
  const add = (name: string, args: string, about: string, example: string, action: Action) =>
    program
      .command(`${name} ${args}`)
      .description(about)
      .option('--json', 'print the ticket as JSON')
      .addHelpText('after', `\nExamples:\n  $ signalbox ${example}`)
      .action(async (...given: unknown[]) => {
        const command = given.at(-1) as Command;
        const [plan = '', ticket = '', ...rest] = command.args;
        await action(plan, ticket, rest, command.optsWithGlobals<GlobalOptions>());
      });

  add(
    'pause',
    '<plan> <ticket>',
    'stop a ticket’s agent now and keep everything',
    'pause sprint-12 PROJ-101',
    async (plan, ticket, _rest, options) => act(io, options, plan, ticket, { type: 'pause' }),
  );
  add(
    'retry',
    '<plan> <ticket>',
    'run the failed phase again, counters at zero',
    'retry sprint-12 PROJ-101',
    async (plan, ticket, _rest, options: GlobalOptions & { latest?: boolean }) =>
      act(io, options, plan, ticket, { type: 'retry', latest: options.latest === true }),
  ).option('--latest', 'with the workflow as it is now, not as it was when the ticket started');
  add(
    'skip',
    '<plan> <ticket> <phase>',
    'go on at another phase',
    'skip sprint-12 PROJ-101 self_review',
    async (plan, ticket, [phase = ''], options) => act(io, options, plan, ticket, { type: 'skip', phase }),
  );
  add(
    'respond',
    '<plan> <ticket> <decision> [message...]',
    'answer a gate',
    'respond sprint-12 PROJ-101 approve "looks good"',
    async (plan, ticket, [decision = '', ...message], options) =>
      act(io, options, plan, ticket, { type: 'respond', decision, message: message.join(' ') }),
  );
  add(
    'resume',
    '[plan] [ticket]',
    'go on with what was paused, stopped or halted, by default last; a run of issues or of a spec goes on here',
    'resume sprint-12',
    async (plan, ticket, _rest, options) => resume(io, options, plan, ticket),
  )
    .option('--answer <text>', 'of a spec that has halted: what the agent asked for')
    .option('--no-tmux', 'of a spec: open no windows')
    .option('--plain', 'of a run: one line per event, also on a terminal');
  add(
    'stop',
    '<plan> [ticket]',
    'pause a ticket, or a plan with all that runs in it',
    'stop sprint-12',
    async (plan, ticket, _rest, options) =>
      ticket ? act(io, options, plan, ticket, { type: 'stop' }) : plans(io, options, plan, 'pause'),
  );
  add(
    'pause-plan',
    '<plan>',
    'stop what runs for a plan and start nothing more',
    'pause-plan sprint-12',
    async (plan, _ticket, _rest, options) => plans(io, options, plan, 'pause'),
  );
  add(
    'resume-plan',
    '<plan>',
    'let a paused plan go on',
    'resume-plan sprint-12',
    async (plan, _ticket, _rest, options) => plans(io, options, plan, 'resume'),
  );
}

type Wish = Parameters<typeof import('../../engine/control.ts').control>[2];

async function act(
  io: Io,
  options: GlobalOptions,
  planId: string,
  ticketId: string,
  wish: Wish,
): Promise<void> {
  const parts = await openEngine(io, options, wish.type);
  const { control } = await import('../../engine/control.ts');
  const ticket = await control(parts, { planId, ticketId }, wish, 'a person');
  const at = ticket.currentPhase && ticket.currentPhase !== ticket.status ? ` at ${ticket.currentPhase}` : '';
  if (options.json) outJson(io, ticket);
  else {
    const moves = ticket.status === 'ready' || ticket.status === 'queued' || ticket.status === 'running';
    const way = moves ? await wayOn(parts, planId) : '';
    io.out(`${planId}/${ticketId} is ${ticket.status.replace('_', ' ')}${at}.${way}`);
  }
}

async function plans(
  io: Io,
  options: GlobalOptions,
  planId: string,
  what: 'pause' | 'resume',
): Promise<void> {
  const parts = await openEngine(io, options, `${what}-plan`);
  const { pausePlan, resumePlan } = await import('../../engine/control.ts');
  const plan =
    what === 'pause' ? await pausePlan(parts, planId, 'a person') : await resumePlan(parts, planId);
  if (options.json) outJson(io, plan);
  else io.out(`Plan ${planId} is ${plan.status}.${what === 'resume' ? await wayOn(parts, planId) : ''}`);
}

/** A run of issues goes on here, as it began, unless a daemon has it; any other plan goes on where somebody runs it. */
async function resume(io: Io, options: GlobalOptions, planId: string, ticketId: string): Promise<void> {
  const { answer } = options as { answer?: string };
  if (answer?.trim() === '') throw await noAnswer();
  if (planId && ticketId) return act(io, options, planId, ticketId, { type: 'resume' });
  const parts = await openEngine(io, options, 'resume');
  const { latestStopped, stoppedIn } = await import('../../engine/stopped-tickets.ts');
  const id = planId || (await latestStopped(parts, io.cwd));
  const { isWithDaemon } = await import('../../engine/plan-transitions.ts');
  const found = parts.store.plan(id);
  io.resumesSpec = found.kind === 'spec';
  if (found.kind === 'spec')
    return resumeSpecHere(io, { ...options, ...(answer === undefined ? {} : { answer }) }, parts, id);
  if (answer !== undefined) throw await noHalt(id);
  if (found.kind === 'run') {
    const { resumeIssues } = await import('./run-issues.ts');
    if (!isWithDaemon(parts, id)) return resumeIssues(id, options, io);
    const { adoptFinished } = await import('../../features/issue-runs/resume.ts');
    await adoptFinished(parts, id);
    if (found.status === 'active' && stoppedIn(parts, id).length === 0) {
      if (options.json) return outJson(io, { plan: found, resumed: [] });
      return io.out(`Run ${id} is ${found.status}.${await wayOn(parts, id)}`);
    }
  }
  const { resumeAll } = await import('../../engine/control.ts');
  const { plan, tickets } = await resumeAll(parts, id);
  if (options.json) return outJson(io, { plan, resumed: tickets });
  const which = tickets.length > 0 ? ` (${tickets.join(', ')} resumed)` : '';
  io.out(`Plan ${plan.id} is ${plan.status}${which}.${await wayOn(parts, plan.id)}`);
}

/** A spec goes on here, unless a daemon has it: then it is only answered. */
async function resumeSpecHere(
  io: Io,
  options: GlobalOptions & { answer?: string },
  parts: Awaited<ReturnType<typeof openEngine>>,
  planId: string,
): Promise<void> {
  const { isWithDaemon } = await import('../../engine/plan-transitions.ts');
  if (!isWithDaemon(parts, planId)) {
    const { resumeSpec } = await import('./run-spec.ts');
    return resumeSpec(planId, options, io);
  }
  const { answerHalt, takeSpec } = await import('../../features/spec-runs/resume.ts');
  if (options.answer !== undefined) await answerHalt(parts, planId, options.answer);
  const plan = await takeSpec(parts, planId, { leave: true });
  if (options.json) return outJson(io, { plan, resumed: [] });
  io.out(`Plan ${planId} is ${plan.status}.${await wayOn(parts, planId)}`);
}

async function noAnswer(): Promise<Error> {
  const { InputError } = await import('../../model/errors.ts');
  return new InputError('usage', '--answer says nothing.', {
    hint: 'Write what the agent should know: --answer "Use the new table."',
  });
}

async function noHalt(planId: string): Promise<Error> {
  const { InputError } = await import('../../model/errors.ts');
  return new InputError('usage', `--answer is for runs of specs, and "${planId}" is none.`, {
    hint: `Answer a gate with: signalbox respond ${planId} <ticket> <decision> "…"`,
  });
}

/** Somebody has to run it: the daemon that is there, or a command. */
export async function wayOn(parts: EngineContext, planId: string): Promise<string> {
  const { kind, claim, status } = parts.store.plan(planId);
  if (status === 'paused') return ` Its plan is paused. Go on with: signalbox resume ${planId}`;
  if (claim && parts.holder.isLive(claim)) return ` Its run (pid ${claim.pid}) goes on with it.`;
  const daemon = parts.holder.daemon();
  if (daemon) return ` Daemon ${daemon.pid} goes on with it.`;
  return kind === 'run' || kind === 'spec'
    ? ` Go on with: signalbox resume ${planId}`
    : ` Run it with: signalbox run ${planId}`;
}
