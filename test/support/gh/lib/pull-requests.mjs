import { readFileSync } from 'node:fs';
import { Exit } from './arguments.mjs';
import { branchTip, deleteBranch, mergeBranches } from './git.mjs';
import { pick, pullView } from './schema.mjs';
import { repositoryOf } from './state.mjs';

export const pullRequestCommands = {
  'pr list': list,
  'pr view': view,
  'pr create': create,
  'pr edit': edit,
  'pr merge': merge,
  'pr comment': comment,
  'pr close': close,
  'pr ready': ready,
};

const now = () => new Date().toISOString();

function list(state, { flags }) {
  const repository = repositoryOf(state, flags.repo);
  const wanted = (flags.state ?? 'open').toUpperCase();
  const found = repository.pullRequests.filter(
    (pull) =>
      (wanted === 'ALL' || pull.state === wanted) &&
      (flags.head === undefined || pull.headRefName === flags.head) &&
      (flags.base === undefined || pull.baseRefName === flags.base),
  );
  const newest = found.reverse().slice(0, Number(flags.limit ?? 30));
  return pick(
    newest.map((pull) => pullView(state, repository, pull)),
    flags.json,
  );
}

function view(state, call) {
  const { repository, pull } = find(state, call);
  return pick(pullView(state, repository, pull), call.flags.json);
}

function create(state, { flags }, input) {
  const repository = repositoryOf(state, flags.repo);
  const base = flags.base ?? repository.defaultBranch ?? 'main';
  if (!flags.title || !flags.head) throw new Exit(1, 'must provide `--title` and `--head`\n');
  const open = repository.pullRequests.find(
    (pull) => pull.state === 'OPEN' && pull.headRefName === flags.head && pull.baseRefName === base,
  );
  if (open)
    throw new Exit(
      1,
      `a pull request for branch "${flags.head}" into branch "${base}" already exists:\n${pullView(state, repository, open).url}\n`,
    );
  const headRefOid = branchTip(repository.git, flags.head);
  if (repository.git && (headRefOid === '' || headRefOid === branchTip(repository.git, base)))
    throw new Exit(
      1,
      `pull request create failed: GraphQL: No commits between ${base} and ${flags.head} (createPullRequest)\n`,
    );
  const numbers = [...repository.issues, ...repository.pullRequests].map(({ number }) => number);
  const pull = {
    number: Math.max(0, ...numbers) + 1,
    title: flags.title,
    body: text(flags, input),
    state: 'OPEN',
    isDraft: flags.draft === true,
    headRefName: flags.head,
    baseRefName: base,
    headRefOid,
    author: { login: state.user },
    createdAt: now(),
    updatedAt: now(),
    mergedAt: null,
    closedAt: null,
    mergeCommit: null,
    labels: [],
    reviews: [],
    reviewThreads: [],
    comments: [],
    statusCheckRollup: [],
  };
  repository.pullRequests.push(pull);
  return `${pullView(state, repository, pull).url}\n`;
}

function edit(state, call, input) {
  const { repository, pull } = find(state, call);
  const { flags } = call;
  if (flags.title !== undefined) pull.title = flags.title;
  if (flags.base !== undefined) pull.baseRefName = flags.base;
  if (flags.body !== undefined || flags['body-file'] !== undefined) pull.body = text(flags, input);
  for (const name of (flags['add-label'] ?? '').split(',').filter(Boolean)) pull.labels.push({ name });
  pull.updatedAt = now();
  return `${pullView(state, repository, pull).url}\n`;
}

function merge(state, call) {
  const { repository, pull } = find(state, call);
  const { flags } = call;
  const seen = pullView(state, repository, pull);
  const name = `${repository.nameWithOwner}#${pull.number}`;
  if (pull.state === 'MERGED') return `! Pull request ${name} was already merged\n`;
  if (pull.state === 'CLOSED') throw new Exit(1, `X Pull request ${name} is closed\n`);
  if (flags['match-head-commit'] && flags['match-head-commit'] !== seen.headRefOid)
    throw new Exit(
      1,
      'GraphQL: Head branch was modified. Review and try the merge again. (mergePullRequest)\n',
    );
  if (pull.isDraft) throw new Exit(1, `X Pull request ${name} is not mergeable: it is a draft.\n`);
  if (seen.mergeable === 'CONFLICTING')
    throw new Exit(
      1,
      `X Pull request ${name} is not mergeable: the merge commit cannot be cleanly created.\n`,
    );
  if (seen.mergeStateStatus === 'BLOCKED')
    throw new Exit(
      1,
      `X Pull request ${name} is not mergeable: the base branch policy prohibits the merge.\n`,
    );
  const method = ['squash', 'rebase'].find((each) => flags[each]) ?? 'merge';
  const oid = mergeBranches(repository.git, pull, method);
  Object.assign(pull, { state: 'MERGED', mergedAt: now(), closedAt: now(), updatedAt: now() });
  pull.headRefOid = seen.headRefOid;
  pull.mergeCommit = oid ? { oid } : null;
  if (flags['delete-branch']) deleteBranch(repository.git, pull.headRefName);
  return '';
}

function comment(state, call, input) {
  const { repository, pull } = find(state, call);
  const { url } = pullView(state, repository, pull);
  const address = `${url}#issuecomment-${pull.comments.length + 1}`;
  pull.comments.push({
    author: { login: state.user },
    body: text(call.flags, input),
    createdAt: now(),
    url: address,
  });
  return `${address}\n`;
}

function close(state, call) {
  const { repository, pull } = find(state, call);
  if (pull.state === 'OPEN') Object.assign(pull, { state: 'CLOSED', closedAt: now(), updatedAt: now() });
  if (call.flags['delete-branch']) deleteBranch(repository.git, pull.headRefName);
  return '';
}

function ready(state, call) {
  find(state, call).pull.isDraft = false;
  return '';
}

/** By number, address or branch; of several for a branch the open one, else the newest. */
function find(state, { words, flags }) {
  const repository = repositoryOf(state, flags.repo);
  const word = words[0] ?? '';
  const number = Number(/^(?:https?:\/\/.*\/pull\/|#)?(\d+)$/.exec(word)?.[1] ?? Number.NaN);
  const named = repository.pullRequests.filter((each) => each.number === number || each.headRefName === word);
  const pull = named.find((each) => each.state === 'OPEN') ?? named.at(-1);
  if (pull) return { repository, pull };
  if (Number.isNaN(number)) throw new Exit(1, `no pull requests found for branch "${word}"\n`);
  throw new Exit(
    1,
    `GraphQL: Could not resolve to a PullRequest with the number of ${number}. (repository.pullRequest)\n`,
  );
}

function text(flags, input) {
  if (flags['body-file'] === undefined) return flags.body ?? '';
  return flags['body-file'] === '-' ? input : readFileSync(flags['body-file'], 'utf8');
}
