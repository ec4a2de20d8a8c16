import { isAbsolute } from 'node:path';
import type { Command } from 'commander';
import { planOf, ticketsOf } from '../../model/plans/view.ts';
import { sayProblem } from '../../report/style.ts';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openEngine, openState } from '../open.ts';
import { registerEdits } from './plan-edit.ts';

export function registerPlan(program: Command, io: Io): void {
  const plan = program
    .command('plan')
    .description('make plans, look at them and decide about them')
    .addHelpText(
      'after',
      '\nExamples:\n  $ signalbox plan check sprint-12\n  $ signalbox plan approve sprint-12',
    );
  const add = (
    name: string,
    args: string,
    about: string,
    action: (id: string, options: GlobalOptions & { force?: boolean }) => Promise<void>,
  ) =>
    plan
      .command(`${name} ${args}`.trim())
      .description(about)
      .option('--json', 'print JSON')
      .addHelpText('after', `\nExamples:\n  $ signalbox plan ${name}${args ? ' sprint-12' : ''}`)
      .action(async (...given: unknown[]) => {
        const command = given.at(-1) as Command;
        await action(command.args[0] ?? '', command.optsWithGlobals());
      });
  add('list', '', 'list all plans', async (_id, options) => list(io, options));
  add('show', '<plan>', 'show a plan with its tickets', async (id, options) => show(io, options, id));
  add('check', '<plan>', 'find everything that is wrong with a plan', async (id, options) =>
    check(io, options, id),
  );
  add('approve', '<plan>', 'make a draft active', async (id, options) => move(io, options, id, 'approve'));
  add('archive', '<plan>', 'put a plan away; nothing is deleted', async (id, options) =>
    move(io, options, id, 'archive'),
  );
  add('delete', '<plan>', 'delete a plan that has nothing unmerged', async (id, options) =>
    remove(io, options, id),
  ).option('--force', 'also when branches are not merged; branches and uncommitted work are kept');
  registerEdits(plan, io);
}

async function list(io: Io, options: GlobalOptions): Promise<void> {
  const { store } = await openState(io, options);
  const view = store.view();
  const rows = view.plans.map((plan) => ({
    id: plan.id,
    name: plan.name,
    status: plan.status,
    complete: ticketsOf(view, plan).filter(({ status }) => status === 'complete').length,
    tickets: plan.tickets.length,
  }));
  if (options.json) return outJson(io, rows);
  const [{ table }, { style, oneLine }] = await Promise.all([
    import('../../report/table.ts'),
    import('../../report/style.ts'),
  ]);
  const look = style(io.color);
  const body = rows.map((row) => [
    row.id,
    row.status,
    `${row.complete}/${row.tickets}`,
    oneLine(row.name, 60),
  ]);
  io.out(body.length > 0 ? table(['plan', 'status', 'complete', 'name'], body, look) : 'No plans yet.');
  for (const problem of view.problems) io.err(`${look.red('✗')} ${oneLine(sayProblem(problem), 400)}`);
}

async function show(io: Io, options: GlobalOptions, id: string): Promise<void> {
  const { store } = await openState(io, options);
  const plan = store.plan(id);
  const tickets = ticketsOf(store.view(), plan);
  if (options.json) return outJson(io, { plan, tickets });
  const [{ table }, { style, oneLine }] = await Promise.all([
    import('../../report/table.ts'),
    import('../../report/style.ts'),
  ]);
  io.out(`${oneLine(plan.name) || plan.id} (${plan.id}), ${plan.status}`);
  const facts = [
    ['repository', plan.repo],
    ['workflow', plan.workflow],
    ['agent', plan.agent],
    ['base', plan.base],
    ['worktrees', plan.worktreeRoot],
  ];
  for (const [name, value] of facts) if (value) io.out(`  ${`${name}`.padEnd(10)} ${oneLine(value, 400)}`);
  const rows = plan.tickets.map((entry) => {
    const ticket = tickets.find((each) => each.ticketId === entry.ticketId);
    return [
      String(entry.order),
      entry.ticketId,
      ticket?.status ?? 'unreadable',
      oneLine(entry.blockedBy.join(', '), 60),
      oneLine(ticket?.title ?? '', 60),
    ];
  });
  io.out(table(['order', 'ticket', 'status', 'after', 'title'], rows, style(io.color)));
}

async function check(io: Io, options: GlobalOptions, id: string): Promise<void> {
  const parts = await openEngine(io, options, 'check');
  const { checkPlan } = await import('../../features/plans/check.ts');
  const problems = await checkPlan(parts, id);
  const errors = problems.filter((problem) => problem.severity === 'error');
  if (options.json) outJson(io, { plan: id, ok: errors.length === 0, problems });
  else {
    const [{ style, oneLine }, { planSummary }] = await Promise.all([
      import('../../report/style.ts'),
      import('../../report/plan-summary.ts'),
    ]);
    const look = style(io.color);
    const view = parts.store.view();
    const plan = planOf(view, id);
    if (plan) {
      // A repository or base that is not there is among the problems.
      const from =
        plan.repo === null ? null : parts.workspaces.startsFrom(plan.repo, plan.base).catch(() => null);
      io.out(`${planSummary(plan, view, parts.settings, look, await from)}\n`);
    }
    for (const { severity, ticketId, place, message, hint } of problems) {
      const mark = severity === 'error' ? look.red('✗') : look.yellow('!');
      const said = isAbsolute(place) && message.includes(place);
      const where = said ? '' : ` ${look.dim(`(${oneLine(place)})`)}`;
      io.out(`${mark} ${oneLine(ticketId ?? id)}: ${oneLine(message, 400)}${where}`);
      if (hint) io.out(look.dim(`  ${oneLine(hint, 400)}`));
    }
    const draft = plan?.status === 'draft' ? ` Approve it with: signalbox plan approve ${id}` : '';
    if (errors.length === 0) io.out(`${look.green('✓')} Plan ${id} can run.${draft}`);
  }
  if (errors.length > 0) io.exit(1);
}

async function move(io: Io, options: GlobalOptions, id: string, what: 'approve' | 'archive'): Promise<void> {
  const parts = await openEngine(io, options, what);
  const { approvePlan, archivePlan } = await import('../../features/plans/lifecycle.ts');
  const plan = what === 'approve' ? await approvePlan(parts, id) : await archivePlan(parts, id);
  if (options.json) return outJson(io, plan);
  const { wayOn } = await import('./ticket.ts');
  io.out(`Plan ${id} is ${plan.status}.${what === 'approve' ? await wayOn(parts, id) : ''}`);
}

async function remove(io: Io, options: GlobalOptions & { force?: boolean }, id: string): Promise<void> {
  const parts = await openEngine(io, options, 'delete');
  const { deletePlan } = await import('../../features/plans/lifecycle.ts');
  await deletePlan(parts, id, options.force === true);
  if (options.json) outJson(io, { deleted: id });
  else io.out(`Plan ${id} is deleted.`);
}
