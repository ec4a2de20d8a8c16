// A program of somebody who has installed the package: runs an issue and prints what became of the process meanwhile.
import { buildExecutionConfig, ConfigResolver, RunOrchestrator, resolveRunOptions } from 'signalbox';
import { getManifest } from 'signalbox/lib/manifest';
import { getSettings } from 'signalbox/lib/settings';

const [, , repo, ...issues] = process.argv;
const surroundings = () => ({
  handlers: process.eventNames().map((name) => [String(name), process.listenerCount(name)]),
  cwd: process.cwd(),
  env: { ...process.env },
  umask: process.umask(),
});

const said = [];
const { exit } = process;
const writes = [process.stdout, process.stderr].map((stream) => [stream, stream.write]);
for (const [stream] of writes) stream.write = (text) => said.push(String(text)) > 0;
process.exit = (code) => said.push(`exit ${code}`);

const before = JSON.stringify(surroundings());
const settings = await getSettings({ cwd: repo });
const manifest = await getManifest({ cwd: repo });
const { concurrency } = new ConfigResolver({
  defaults: { concurrency: 3 },
  env: { concurrency: '2' },
}).resolve();
const options = resolveRunOptions({ agent: 'rehearsal', phases: 'exec', pr: false, concurrency }, settings);
const config = buildExecutionConfig(options, settings, issues.length);
const run = await RunOrchestrator.run({ options, settings, manifest, cwd: repo }, issues);
const after = JSON.stringify(surroundings());

process.exit = exit;
for (const [stream, write] of writes) stream.write = write;
const results = run.results.map(({ id, success, abortReason }) => [id, success, abortReason ?? null]);
console.log(
  JSON.stringify({
    said,
    same: before === after,
    exitCode: run.exitCode,
    results,
    parallel: config.parallel,
  }),
);
