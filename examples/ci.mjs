// Runs the issues that are named and ends with the run's exit code: node ci.mjs docs/issues/*.md
import { RunOrchestrator } from 'signalbox';
import { getSettings } from 'signalbox/lib/settings';

const run = await RunOrchestrator.run(
  { options: { sequential: true, pr: false }, settings: await getSettings() },
  process.argv.slice(2),
);
for (const issue of run.results) {
  const end = issue.success ? 'passed' : `failed: ${issue.abortReason}`;
  console.log(`${issue.id} ${end} (${issue.branch ?? 'no branch'})`);
}
process.exitCode = run.exitCode;
