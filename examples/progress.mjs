// Shows every phase as it starts and ends; Ctrl-C stops the agents and leaves the run so that it can be resumed.
import { RunOrchestrator, SignalboxError } from 'signalbox';
import { getManifest } from 'signalbox/lib/manifest';
import { getSettings } from 'signalbox/lib/settings';

try {
  const { stack } = await getManifest();
  console.log(`A ${stack ?? 'plain'} project`);

  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());

  let events = 0;
  let counting;
  const run = await RunOrchestrator.run(
    {
      options: { concurrency: 2, pr: false },
      settings: await getSettings(),
      signal: stop.signal,
      onProgress: (issue, phase, event, extra) => {
        const time =
          extra?.durationSeconds === undefined ? '' : ` after ${extra.durationSeconds.toFixed(1)} s`;
        console.log(`${issue} ${phase} ${event}${time}`);
      },
      onOrchestratorReady: (orchestrator) => {
        counting = (async () => {
          for await (const _event of orchestrator.events()) events += 1;
        })();
      },
    },
    process.argv.slice(2),
  );
  await counting;
  const passed = run.results.filter((issue) => issue.success).length;
  console.log(`${passed} of ${run.results.length} passed, ${events} events, log in ${run.logPath}`);
  process.exitCode = run.exitCode;
} catch (error) {
  if (!(error instanceof SignalboxError)) throw error;
  console.error(error.hint ? `${error.message}\n${error.hint}` : error.message);
  process.exitCode = 2;
}
