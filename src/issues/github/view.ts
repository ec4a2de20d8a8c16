import { ghFailure } from '../../github/gh/failure.ts';
import { repositoryText } from '../../github/gh/repository-name.ts';
import { runGh } from '../../github/gh/run-gh.ts';
import type { Wanted } from '../../github/issue-query.ts';
import { asRecord, parseJson } from '../../model/text/json.ts';
import type { SourceContext } from '../item.ts';
import { orError } from '../problem.ts';
import { type Outcome, pullRequest } from './ask.ts';
import { rawIssue } from './issue.ts';

const AT_ONCE = 4;
const FIELDS = 'number,title,body,labels,state,url,milestone';

/** One call for each issue, for when GraphQL queries cannot be made. Native dependencies are not told this way. */
export async function viewIssues(wanted: readonly Wanted[], context: SourceContext): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const queue = [...wanted.entries()];
  const worker = async () => {
    for (let next = queue.shift(); next; next = queue.shift())
      outcomes[next[0]] = await viewIssue(next[1], context);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, wanted.length) }, worker));
  return outcomes;
}

async function viewIssue(wanted: Wanted, context: SourceContext): Promise<Outcome> {
  const { repository, number } = wanted;
  const text = repositoryText(repository);
  const args = ['issue', 'view', String(number), '--repo', text, '--json', FIELDS];
  return orError(
    async () => {
      const result = await runGh(args, context);
      const issue = asRecord(parseJson(result.stdout));
      if (result.code !== 0 || issue.number !== number)
        throw ghFailure(result, { host: repository.host, what: `#${number} of ${text}`, now: context.now });
      const raw = rawIssue(issue, repository.host);
      if (/\/pull\/\d+$/.test(raw.url)) throw pullRequest(wanted);
      return { wanted, issue: raw, repository };
    },
    (error) => ({ wanted, error }),
  );
}
