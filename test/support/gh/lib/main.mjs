import { appendFileSync } from 'node:fs';
import { api } from './api.mjs';
import { Exit, parseArguments } from './arguments.mjs';
import { forgetTips } from './git.mjs';
import { pullRequestCommands } from './pull-requests.mjs';
import { issueView, pick, pullView, repositoryView } from './schema.mjs';
import { countCall, repositoryOf, update } from './state.mjs';

const LOGIN =
  'To get started with GitHub CLI, please run:  gh auth login\nAlternatively, populate the GH_TOKEN environment variable with a GitHub API authentication token.\n';

const COMMANDS = {
  'auth status': authStatus,
  'auth token': authToken,
  'repo view': repoView,
  'issue view': viewIssue,
  'api graphql': api,
  'api rate_limit': api,
  ...pullRequestCommands,
};

/** Runs one command: counts it, fails it when a failure is scripted for it, else does it and keeps the new state. */
export function answer({ file, argv, input: read }) {
  forgetTips();
  appendFileSync(`${file}.calls`, `${JSON.stringify({ argv, cwd: process.cwd() })}\n`);
  const call = parseArguments(argv);
  const input = call.flags['body-file'] === '-' || call.flags.input === '-' ? read() : '';
  return update(file, (state) => perform(state, call, input, countCall(file, call.kind)));
}

function perform(state, call, input, count) {
  const failure = state.failures.find(({ call: kind, from = 1, times = 1 }) => {
    return kind === call.kind && count >= from && (times === null || count < from + times);
  });
  if (failure && !failure.after) return { exit: 1, ...failure };
  const end = run(state, call, input);
  return failure ? { exit: 1, ...failure } : end;
}

function run(state, call, input) {
  try {
    if (!state.loggedIn && !call.kind.startsWith('auth ')) throw new Exit(4, LOGIN);
    const command = COMMANDS[call.kind];
    if (!command) throw new Exit(1, `unknown command "${call.kind}" for the scripted gh\n`);
    if (call.flags.jq || call.flags.template)
      throw new Exit(1, 'the scripted gh has no --jq and no --template\n');
    return { stdout: command(state, call, input) };
  } catch (error) {
    if (error instanceof Exit) return { exit: error.code, stderr: error.message, stdout: error.stdout };
    throw error;
  }
}

function authStatus(state, { flags }) {
  const host = flags.hostname ?? state.host;
  if (!state.loggedIn)
    throw new Exit(1, `You are not logged into any GitHub hosts. To log in, run: gh auth login\n`);
  return `${host}\n  ✓ Logged in to ${host} as ${state.user}\n`;
}

function authToken(state, { flags }) {
  if (!state.loggedIn) throw new Exit(1, `no oauth token found for ${flags.hostname ?? state.host}\n`);
  return 'gho_scripted\n';
}

function repoView(state, { words, flags }) {
  return pick(repositoryView(state, repositoryOf(state, words[0] ?? flags.repo)), flags.json);
}

function viewIssue(state, { words, flags }) {
  const repository = repositoryOf(state, flags.repo);
  const number = Number(words[0].replace(/^.*[/#]/, ''));
  const issue = repository.issues.find((each) => each.number === number);
  if (issue) return pick(issueView(state, repository, issue), flags.json);
  const pull = repository.pullRequests.find((each) => each.number === number);
  if (pull) return pick(pullView(state, repository, pull), flags.json);
  throw new Exit(
    1,
    `GraphQL: Could not resolve to an issue or pull request with the number of ${number}. (repository.issue)\n`,
  );
}
