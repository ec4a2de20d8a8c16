// Runs issues whose text the caller has, without a tracker; state is kept in a temporary directory and forgotten.
import { buildExecutionConfig, RunOrchestrator, resolveRunOptions, SignalboxError } from 'signalbox';
import { getSettings } from 'signalbox/lib/settings';

const issues = new Map([
  [1, { title: 'Add a greeting', labels: [], body: 'Print a greeting.' }],
  [2, { title: 'Add a farewell', labels: ['security'], body: 'Print a farewell.' }],
]);

try {
  const settings = await getSettings();
  const options = resolveRunOptions({ phases: 'exec,qa', pr: false }, settings);
  const config = buildExecutionConfig(options, settings, issues.size);
  const orchestrator = new RunOrchestrator({ config, settings, issueInfoMap: issues });

  for (const issue of await orchestrator.execute([...issues.keys()])) {
    const phases = issue.phaseResults.map(({ phase, success }) => `${phase} ${success ? 'ok' : 'failed'}`);
    console.log(`#${issue.issueNumber} ${issue.success ? 'passed' : 'failed'}: ${phases.join(', ')}`);
  }
} catch (error) {
  if (!(error instanceof SignalboxError)) throw error;
  console.error(error.hint ? `${error.message}\n${error.hint}` : error.message);
  process.exitCode = 2;
}
