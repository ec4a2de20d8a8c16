import { hasLabels, type Listed, type ListFilter, type ListOptions } from '../list.ts';
import { orError, problemOf } from '../problem.ts';
import { filteredIssues, linearItem } from './source.ts';

/** The issues of a Linear team, by state, labels and project milestone. */
export async function listLinear(options: ListOptions & { team: string }): Promise<Listed> {
  const { filter, team } = options;
  const found = await orError(
    () => filteredIssues(condition(filter, team), options, { most: filter.limit }),
    (error) => error,
  );
  if (found instanceof Error) return { items: [], problems: [problemOf(team, found)], more: false };
  const listed: Listed = { items: [], problems: [], more: found.more };
  for (const issue of found.issues) {
    const item = linearItem(issue);
    if (item instanceof Error) listed.problems.push(problemOf(team, item));
    else if (hasLabels(item.labels, filter.labels)) listed.items.push(item);
  }
  return listed;
}

const OVER = ['completed', 'canceled'];

function condition({ state, labels, milestone }: ListFilter, team: string): unknown {
  return {
    team: { key: { eq: team } },
    ...(state === 'all' ? {} : { state: { type: state === 'open' ? { nin: OVER } : { in: OVER } } }),
    ...(labels.length > 0
      ? { and: labels.map((label) => ({ labels: { some: { name: { eqIgnoreCase: label } } } })) }
      : {}),
    ...(milestone === undefined ? {} : { projectMilestone: { name: { eqIgnoreCase: milestone } } }),
  };
}
