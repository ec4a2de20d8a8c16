// Offers running issues to another program as a tool: it reads one JSON request per line and answers in lines of JSON.
//   {"id": 1, "tool": "run_issues", "issues": ["docs/issues/age.md"], "options": {"phases": "exec,qa"}}
import { createInterface } from 'node:readline';
import { InputError, RunOrchestrator } from 'signalbox';
import { getSettings } from 'signalbox/lib/settings';

const answer = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

async function runIssues({ id, issues, options = {} }) {
  const run = await RunOrchestrator.run(
    {
      options: { pr: false, ...options },
      settings: await getSettings(),
      output: (line) => answer({ id, line }),
    },
    issues,
  );
  const results = run.results.map((issue) => ({
    issue: issue.id,
    success: issue.success,
    branch: issue.branch,
    why: issue.abortReason ?? null,
    qa: issue.phaseResults.findLast(({ phase }) => phase === 'qa')?.summary ?? null,
  }));
  answer({ id, ok: run.exitCode === 0, results });
}

function parse(line) {
  try {
    return Object(JSON.parse(line));
  } catch {
    throw new InputError('tool/request', 'A request is one line of JSON.');
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  let request = {};
  try {
    request = parse(line);
    if (request.tool !== 'run_issues') throw new InputError('tool/unknown', 'There is one tool: run_issues.');
    await runIssues(request);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    answer({ id: request.id, ok: false, error: error.message, hint: error.hint ?? null });
  }
}
