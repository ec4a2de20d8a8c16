// Says what is not as the demo promises, from the state files and the repository alone.

const TICKETS = ['parser', 'cli', 'docs', 'cache'];

/** `plan` and `tickets` as they are stored, and the branches that are `merged` into main. */
export function problemsOf({ plan, tickets, merged }) {
  const problems = [];
  const expect = (ok, message) => ok || problems.push(message);
  expect(plan.status === 'complete', `the plan is ${plan.status}, not complete`);
  const named = Object.fromEntries(tickets.map((ticket) => [ticket.ticketId, ticket]));
  for (const id of TICKETS) {
    const status = named[id]?.status ?? 'missing';
    expect(status === 'complete', `ticket ${id} is ${status}, not complete`);
    expect(merged.includes(named[id]?.branch), `the work of ${id} is not in main`);
  }
  const { parser, cli, docs, cache } = named;
  const attempts = (ticket, phase) => ticket?.phaseHistory?.filter((each) => each.phase === phase) ?? [];
  const end = (ticket) => ticket?.phaseHistory?.at(-1)?.completedAt ?? '';
  const start = (ticket) => ticket?.phaseHistory?.[0]?.startedAt ?? '';
  expect(end(parser) && start(cli) >= end(parser), 'cli did not wait for parser');
  const verdicts = attempts(docs, 'self_review').map((each) => each.outcome);
  expect(
    verdicts.join() === 'fail,pass',
    `docs was reviewed with ${verdicts.join() || 'nothing'}, not fail,pass`,
  );
  expect(attempts(docs, 'implement').length === 2, 'docs did not go back to implement');
  const [limited, resumed] = attempts(cache, 'implement');
  expect(limited?.status === 'limit', 'cache did not hit its usage limit');
  expect(resumed?.status === 'success', 'cache did not go on after its usage limit');
  expect(
    limited?.sessionId && resumed?.sessionId === limited.sessionId,
    'cache did not go on in its session',
  );
  return problems;
}
