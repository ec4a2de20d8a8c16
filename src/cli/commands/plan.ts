import { isAbsolute } from 'node:path';
import { planOf, ticketsOf } from '../../model/plans/view.ts';
import { oneLine, sayProblem, style } from '../../report/style.ts';
import { table } from '../../report/table.ts';
import { answer, type Io, outJson } from '../io.ts';
import { type GlobalOptions, openEngine, openState } from '../open.ts';

export async function planList(io: Io, options: GlobalOptions): Promise<void> {
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

export async function planShow(io: Io, options: GlobalOptions, id: string): Promise<void> {
  const { store } = await openState(io, options);
  const plan = store.plan(id);
  const tickets = ticketsOf(store.view(), plan);
  if (options.json) return outJson(io, { plan, tickets });
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

export async function planCheck(io: Io, options: GlobalOptions, id: string): Promise<void> {
  const parts = await openEngine(io, options, 'check');
  const { checkPlan } = await import('../../features/plans/check.ts');
  const problems = await checkPlan(parts, id);
  const ok = problems.every((problem) => problem.severity !== 'error');
  if (!ok) io.exit(1);
  if (options.json) return outJson(io, { plan: id, ok, problems });
  const { planSummary } = await import('../../report/plan-summary.ts');
  const look = style(io.color);
  const view = parts.store.view();
  const plan = planOf(view, id);
  if (plan) {
    // A repository or base that is missing is among the problems.
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
  if (ok) io.out(`${look.green('✓')} Plan ${id} can run.${draft}`);
}

export async function planApprove(io: Io, options: GlobalOptions, id: string): Promise<void> {
  const parts = await openEngine(io, options, 'approve');
  const [{ approvePlan }, { nextStep }] = await Promise.all([
    import('../../features/plans/lifecycle.ts'),
    import('./ticket.ts'),
  ]);
  const plan = await approvePlan(parts, id);
  answer(io, options, plan, `Plan ${id} is ${plan.status}.${nextStep(parts, id)}`);
}

export async function planArchive(io: Io, options: GlobalOptions, id: string): Promise<void> {
  const parts = await openEngine(io, options, 'archive');
  const { archivePlan } = await import('../../features/plans/lifecycle.ts');
  const plan = await archivePlan(parts, id);
  answer(io, options, plan, `Plan ${id} is ${plan.status}.`);
}

export async function planDelete(io: Io, options: GlobalOptions & { force?: boolean }, id: string) {
  const parts = await openEngine(io, options, 'delete');
  const { deletePlan } = await import('../../features/plans/lifecycle.ts');
  await deletePlan(parts, id, options.force === true);
  answer(io, options, { deleted: id }, `Plan ${id} is deleted.`);
}
