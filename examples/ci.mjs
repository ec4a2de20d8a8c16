// Runs the issues that are named and ends with the run's exit code: node ci.mjs docs/issues/*.md
import { RunOrchestrator, SignalboxError } from 'signalbox';
import { getSettings } from 'signalbox/lib/settings';

try {
  const run = await RunOrchestrator.run(
    { options: { sequential: true, pr: false }, settings: await getSettings() },
    process.argv.slice(2),
  );
  for (const issue of run.results) {
    const end = issue.success ? 'passed' : `failed: ${issue.abortReason}`;
    console.log(`${issue.id} ${end} (${issue.branch ?? 'no branch'})`);
  }
  process.exitCode = run.exitCode;
} catch (error) {
  if (!(error instanceof SignalboxError)) throw error;
  console.error(error.hint ? `${error.message}\n${error.hint}` : error.message);
  process.exitCode = 2;
}
