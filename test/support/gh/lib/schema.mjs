import { Exit } from './arguments.mjs';
import { branchTip, conflicts } from './git.mjs';
import { findRepository, hostOf } from './state.mjs';

/** What `--json a,b` prints of an object. */
export function pick(object, fields) {
  if (!fields) throw new Exit(1, 'the scripted gh prints JSON only: use --json\n');
  const one = (each) =>
    Object.fromEntries(
      fields.split(',').map((name) => {
        if (each[name] === undefined || typeof each[name] === 'function')
          throw new Exit(1, `Unknown JSON field: "${name}"\n`);
        return [name, each[name]];
      }),
    );
  return `${JSON.stringify(Array.isArray(object) ? object.map(one) : one(object))}\n`;
}

/** The fields of a repository; those with arguments, which only GraphQL asks for, are functions. */
export function repositoryView(state, repository) {
  const [owner, name] = repository.nameWithOwner.split('/');
  const branch = repository.defaultBranch ?? 'main';
  const issue = (number) => repository.issues.find((each) => each.number === number);
  const pull = (number) => repository.pullRequests.find((each) => each.number === number);
  const missing = (what, number) => {
    throw Object.assign(new Error(`Could not resolve to ${what} with the number of ${number}.`), {
      type: 'NOT_FOUND',
    });
  };
  const issueOf = (number) => issue(number) && issueView(state, repository, issue(number));
  const pullOf = (number) => pull(number) && pullNode(state, repository, pull(number));
  return {
    __typename: 'Repository',
    name,
    nameWithOwner: repository.nameWithOwner,
    owner: { login: owner },
    hasIssuesEnabled: true,
    url: `https://${hostOf(state)}/${repository.nameWithOwner}`,
    defaultBranchRef: { name: branch, target: { oid: branchTip(repository.git, branch) } },
    issue: ({ number }) => issueOf(number) ?? missing('an Issue', number),
    pullRequest: ({ number }) => pullOf(number) ?? missing('a PullRequest', number),
    issueOrPullRequest: ({ number }) =>
      issueOf(number) ?? pullOf(number) ?? missing('an issue or pull request', number),
    issues: ({ states, filterBy = {} }) =>
      filtered(repository.issues, { states })
        .filter(({ milestone, labels = [] }) => {
          const { milestone: number, labels: wanted } = filterBy;
          const known = milestonesOf(repository).find((each) => String(each.number) === number);
          if (number !== undefined && (!known || known.title !== milestone)) return false;
          // GitHub lets an issue through that has any of the labels.
          return (
            wanted === undefined ||
            wanted.some((label) => labels.some((own) => own.toLowerCase() === label.toLowerCase()))
          );
        })
        .map(({ number }) => issueOf(number)),
    milestones: ({ query = '' }) =>
      milestonesOf(repository).filter(({ title }) => title.toLowerCase().includes(query.toLowerCase())),
    pullRequests: ({ states, headRefName, baseRefName, orderBy }) => {
      const found = filtered(repository.pullRequests, { states, headRefName, baseRefName });
      if (orderBy?.direction === 'DESC') found.reverse();
      return found.map(({ number }) => pullOf(number));
    },
  };
}

function milestonesOf(repository) {
  const titles = repository.issues.flatMap(({ milestone }) => milestone ?? []);
  return [...new Set(titles)].map((title, index) => ({
    __typename: 'Milestone',
    number: index + 1,
    title,
    description: '',
    dueOn: null,
  }));
}

function filtered(records, { states, ...equal }) {
  const wanted = states === undefined ? undefined : [states].flat();
  return records.filter(
    (record) =>
      (!wanted || wanted.includes(record.state ?? 'OPEN')) &&
      Object.entries(equal).every(([name, value]) => value === undefined || record[name] === value),
  );
}

export function issueView(state, repository, issue) {
  const place = (text) => {
    const [name, number] = String(text).includes('#') ? text.split('#') : ['', text];
    return {
      number: Number(number),
      repository: { nameWithOwner: name || repository.nameWithOwner },
      state: stateOf(state, name || repository.nameWithOwner, number),
    };
  };
  return {
    __typename: 'Issue',
    id: `I_${issue.number}`,
    number: issue.number,
    title: issue.title,
    body: issue.body ?? '',
    state: issue.state ?? 'OPEN',
    url: `https://${hostOf(state)}/${repository.nameWithOwner}/issues/${issue.number}`,
    labels: (issue.labels ?? []).map((name) => ({ id: `L_${name}`, name, description: '', color: 'ededed' })),
    comments: issue.comments ?? [],
    blockedBy: (issue.blockedBy ?? []).map(place),
    parent: issue.parent === undefined ? null : place(issue.parent),
    subIssues: (issue.subIssues ?? []).map(place),
    milestone: milestonesOf(repository).find(({ title }) => title === issue.milestone) ?? null,
    repository: { nameWithOwner: repository.nameWithOwner },
  };
}

function stateOf(state, name, number) {
  return findRepository(state, name)?.issues.find((each) => each.number === Number(number))?.state ?? 'OPEN';
}

/** A pull request with what follows from its reviews, checks and branches. */
export function pullView(state, repository, pull) {
  const headRefOid =
    (pull.state === 'OPEN' && branchTip(repository.git, pull.headRefName)) || pull.headRefOid;
  const mergeable = pull.mergeable ?? (conflicts(repository.git, pull) ? 'CONFLICTING' : 'MERGEABLE');
  const contexts = pull.statusCheckRollup;
  const rollup = contexts.length === 0 ? null : { state: rollupState(contexts), contexts };
  return {
    ...pull,
    __typename: 'PullRequest',
    id: `PR_${pull.number}`,
    url: `https://${hostOf(state)}/${repository.nameWithOwner}/pull/${pull.number}`,
    headRefOid,
    headRepositoryOwner: { login: pull.headOwner ?? repository.nameWithOwner.split('/')[0] },
    mergeable,
    mergeStateStatus: pull.mergeStateStatus ?? (mergeable === 'CONFLICTING' ? 'DIRTY' : 'CLEAN'),
    reviewDecision: pull.reviewDecision ?? decision(pull.reviews),
    latestReviews: [...latest(pull.reviews).values()],
    commits: [{ commit: { oid: headRefOid, statusCheckRollup: rollup } }],
    closed: pull.state !== 'OPEN',
    merged: pull.state === 'MERGED',
  };
}

/** The same with what only GraphQL has. People are members unless they say otherwise. */
function pullNode(state, repository, pull) {
  const seen = pullView(state, repository, pull);
  const tip = branchTip(repository.git, pull.headRefName);
  const gone = repository.git ? tip === '' : pull.headDeleted === true;
  const said = (kind) => (each, index) => ({
    id: `${kind}_${pull.number}_${index + 1}`,
    authorAssociation: 'MEMBER',
    viewerDidAuthor: each.author.login === state.user,
    commit: null,
    url: '',
    includesCreatedEdit: false,
    reactionGroups: null,
    ...each,
    author: { __typename: 'User', id: `U_${each.author.login}`, name: each.author.login, ...each.author },
    __typename: kind,
  });
  const current = pull.statusCheckRollup.filter(({ commit = seen.headRefOid }) => commit === seen.headRefOid);
  const contexts = current.map((each, index) => ({
    id: `CR_${pull.number}_${index + 1}_${each.conclusion}`,
    detailsUrl: '',
    targetUrl: '',
    description: '',
    ...each,
  }));
  const rollup = contexts.length === 0 ? null : { state: rollupState(contexts), contexts };
  return {
    ...seen,
    headRef: gone ? null : { name: pull.headRefName },
    headRepositoryOwner: { __typename: 'Organization', id: 'O_1', ...seen.headRepositoryOwner },
    reviewDecision: seen.reviewDecision || null,
    baseRefOid: branchTip(repository.git, pull.baseRefName),
    reviews: pull.reviews.map(said('PRR')),
    comments: pull.comments.map(said('IC')),
    reviewThreads: pull.reviewThreads.map((thread) => ({
      ...thread,
      comments: thread.comments.map(said(`RC_${thread.id}`)),
    })),
    commits: [{ commit: { oid: seen.headRefOid, statusCheckRollup: rollup } }],
  };
}

function latest(reviews) {
  return new Map(
    reviews.filter(({ state }) => state !== 'COMMENTED').map((each) => [each.author.login, each]),
  );
}

function decision(reviews) {
  const states = [...latest(reviews).values()].map(({ state }) => state);
  if (states.includes('CHANGES_REQUESTED')) return 'CHANGES_REQUESTED';
  return states.includes('APPROVED') ? 'APPROVED' : '';
}

function rollupState(checks) {
  if (checks.some(({ conclusion }) => ['FAILURE', 'TIMED_OUT', 'CANCELLED'].includes(conclusion)))
    return 'FAILURE';
  return checks.every(({ status }) => status === 'COMPLETED') ? 'SUCCESS' : 'PENDING';
}
