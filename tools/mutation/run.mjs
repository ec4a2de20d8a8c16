// Changes the files that read and classify agents' output in small ways, one at a time, and says which changes no test
// notices: `node tools/mutation/run.mjs [file…]`. Known ones are in known.mjs, with a reason.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { rolldown } from 'rolldown';
import { KNOWN } from './known.mjs';
import { mutantsOf, switched } from './mutants.mjs';

/** Where only a part of a file reads, that part. */
const FILES = {
  'src/agents/reading/classify-errors.ts': {},
  'src/agents/reading/reset-time.ts': {},
  'src/agents/reading/result-block-and-signal.ts': {
    without: ['taggedInstruction', 'repairPrompt', 'repairAnew'],
  },
  'src/agents/reading/split-lines.ts': {},
  'src/agents/reading/stream-reader.ts': {},
  'src/agents/claude-reader.ts': {},
  'src/agents/codex.ts': { from: 'STATUS' },
  'src/agents/gemini.ts': { from: 'REASONS' },
  'src/agents/opencode.ts': { from: 'STREAM_ERROR' },
  'src/agents/pi.ts': { from: 'REPEATS' },
  'src/agents/custom.ts': { from: 'reader' },
  'src/agents/rehearsal.ts': { from: 'RehearsalReader' },
};
const TESTS = 'test/agents';
/** About how a CLI is called, or with processes of their own. */
const OTHER_TESTS = /invocation|flags|pi-extension|planning|programs|versions|cover/;
/** For a mutant that never ends. Tests take milliseconds, but the machine may be busy. */
const PATIENCE = 30_000;
const TOO_SLOW = Symbol('too slow');
/** Tests that take longer, in milliseconds, are only asked about what they reach. */
const SLOW = 50;

const root = fileURLToPath(new URL('../../', import.meta.url));
const here = (file) => fileURLToPath(new URL(file, import.meta.url));
const asked = process.argv.slice(2).map((file) => relative(root, resolve(file)));
const unknown = asked.filter((file) => !Object.hasOwn(FILES, file));
if (unknown.length > 0) {
  console.error(
    `Not in the list of files: ${unknown.join(', ')}. They are:\n${Object.keys(FILES).join('\n')}`,
  );
  process.exit(2);
}

const mutants = [];
const sources = new Map();
for (const [file, part] of Object.entries(FILES)) {
  if (asked.length > 0 && !asked.includes(file)) continue;
  const code = readFileSync(join(root, file), 'utf8');
  const found = mutantsOf(code, part);
  sources.set(join(root, file), switched(code, found, mutants.length));
  mutants.push(...found.map((mutant) => ({ ...mutant, file })));
}

const directory = mkdtempSync(join(tmpdir(), 'signalbox-mutants-'));
try {
  process.exitCode = await main();
} finally {
  rmSync(directory, { recursive: true, force: true });
}

async function main() {
  const started = performance.now();
  const tests = await inWorker(null, await bundle(), 600_000);
  const survivors = [];
  const own = new Set(tests.flatMap((test) => test.reached));
  const filesOf = new Map(tests.map((test) => [test, new Set(test.reached.map((id) => mutants[id].file))]));
  tests.sort((a, b) => a.ms - b.ms);
  for (const [id, mutant] of mutants.entries()) {
    // What runs once, on loading, is reached by no test of its own: those that reach its file come first.
    const near = tests.filter((test) => filesOf.get(test).has(mutant.file));
    const covering = own.has(id)
      ? tests.filter((test) => test.reached.includes(id))
      : [...near, ...tests.filter((test) => !near.includes(test) && test.ms < SLOW)];
    const killer = await inWorker(
      id,
      covering.map(({ url, index }) => ({ url, index })),
      PATIENCE,
    );
    if (killer === null) survivors.push(mutant);
    else if (killer === TOO_SLOW)
      console.log(`Ended after ${PATIENCE / 1000} s: ${mutant.file}:${mutant.line}`);
    else promote(tests, killer);
  }
  const refused = refusedByTypes(survivors);
  const left = survivors.filter((mutant) => !refused.has(mutant));
  return report(left, refused.size, (performance.now() - started) / 1000);
}

/** The mutants that are no TypeScript: these need no test. All are checked at once, each as a file beside the real one. */
function refusedByTypes(survivors) {
  cpSync(join(root, 'src'), join(directory, 'src'), { recursive: true });
  cpSync(join(root, 'package.json'), join(directory, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
  const nameOf = ({ file }, index) => file.replace(/\.ts$/, `.${index}.ts`);
  for (const [index, mutant] of survivors.entries())
    writeFileSync(join(directory, nameOf(mutant, index)), changed(mutant));
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { noUnusedLocals: false, noUnusedParameters: false, allowUnreachableCode: true },
    include: [],
    files: [...new Set(survivors.map(({ file }) => file)), ...survivors.map(nameOf)],
  };
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, '--noEmit', '--pretty', 'false', '-p', directory], {
    cwd: directory,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (survivors.some(({ file }) => stdout.includes(`${file}(`))) throw new Error(stdout);
  return new Set(survivors.filter((mutant, index) => stdout.includes(`${nameOf(mutant, index)}(`)));
}

/** The file with one mutant. What is left out goes with the comma after it. */
function changed({ file, start, end, by, wrapping }) {
  const code = readFileSync(join(root, file), 'utf8');
  const before = code.slice(0, start);
  const after = code.slice(end);
  if (wrapping === 'expression') return `${before}(${by === 'Symbol()' ? 'null as never' : by})${after}`;
  return before + (wrapping === 'statement' ? after : after.replace(/^\s*,/, ''));
}

/** The next mutant is often noticed by the same test. */
function promote(tests, killer) {
  const at = tests.findIndex((test) => test.url === killer.url && test.index === killer.index);
  if (at > 0) tests.unshift(...tests.splice(at, 1));
}

function report(survivors, refused, seconds) {
  const keyOf = ({ file, was, by, line }) => {
    const [text = ''] = readFileSync(join(root, file), 'utf8')
      .split('\n')
      .slice(line - 1);
    return `${file}: ${shown(flat(was), flat(by))}${was.length < 20 ? ` in ${text.trim()}` : ''}`;
  };
  const keys = new Set(survivors.map(keyOf));
  const fresh = survivors.filter((mutant) => !Object.hasOwn(KNOWN, keyOf(mutant)));
  for (const mutant of fresh) console.log(`${mutant.line}\t${keyOf(mutant)}`);
  const searched = new Set(mutants.map(({ file }) => file));
  const stale = Object.keys(KNOWN).filter((key) => searched.has(key.split(': ')[0]) && !keys.has(key));
  for (const key of stale) console.log(`In known.mjs, but noticed or gone: ${key}`);
  console.log(
    `${mutants.length} mutants in ${Math.round(seconds)} s: ${mutants.length - refused - survivors.length} noticed, ` +
      `${refused} refused by the type checker, ${survivors.length - fresh.length} known, ${fresh.length} that no test notices.`,
  );
  return fresh.length + stale.length > 0 ? 1 : 0;
}

/** A change; of a long text only the place that changes, in brackets. */
function shown(was, by) {
  if (was.length < 60 || by === '')
    return `${was.length < 120 ? was : `${was.slice(0, 120)}…`} → ${by || 'nothing'}`;
  let start = 0;
  while (start < by.length && was[start] === by[start]) start += 1;
  let end = 0;
  while (end < Math.min(was.length, by.length) - start && was.at(-1 - end) === by.at(-1 - end)) end += 1;
  const [before, after] = [was.slice(0, start).slice(-30), was.slice(was.length - end).slice(0, 30)];
  return `…${before}[${was.slice(start, was.length - end)}]${after}… → [${by.slice(start, by.length - end)}]`;
}

function flat(text) {
  return text.replace(/\s+/g, ' ');
}

/** The URLs of the bundled test files. */
async function bundle() {
  const files = readdirSync(join(root, TESTS), { recursive: true }).filter(
    (file) => file.endsWith('.test.ts') && !OTHER_TESTS.test(file),
  );
  const ofVitest = createRequire(createRequire(import.meta.url).resolve('vitest/package.json'));
  const made = await rolldown({
    input: Object.fromEntries(files.map((file) => [basename(file, '.ts'), join(root, TESTS, file)])),
    platform: 'node',
    transform: { define: { __VERSION__: '"test"' } },
    resolve: { alias: { vitest: here('stand-in.mjs') } },
    plugins: [
      {
        name: 'mutants',
        resolveId: (id) => (/^(?:@vitest\/expect|chai)$/.test(id) ? ofVitest.resolve(id) : null),
        load: (id) => sources.get(id) ?? null,
        transform: (code, id) =>
          id.includes('node_modules')
            ? null
            : code
                .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
                .replace(/^import fc .*/m, `$&\nfc.configureGlobal({ seed: 1, endOnFailure: true });`),
      },
    ],
    onLog: () => undefined,
  });
  await made.write({
    dir: directory,
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name].mjs',
  });
  return files.map((file) => pathToFileURL(join(directory, `${basename(file, '.ts')}.mjs`)).href);
}

/** Every mutant gets a thread of its own, so that nothing of one is left for the next. */
function inWorker(mutant, wanted, patience) {
  return new Promise((done, fail) => {
    const worker = new Worker(here('worker.mjs'), {
      workerData: { mutant, wanted },
      stdout: true,
      stderr: true,
    });
    const timer = setTimeout(() => end(TOO_SLOW), patience);
    const end = (answer) => {
      clearTimeout(timer);
      worker.terminate().then(() => done(answer), fail);
    };
    worker.once('message', end);
    worker.once('error', (error) => (mutant === null ? fail(error) : end(error)));
  });
}
