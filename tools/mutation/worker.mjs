// Runs tests of bundled test files with one mutant switched on, or with none and notes what each test reaches.
import { parentPort, workerData } from 'node:worker_threads';

const { mutant, wanted } = workerData;
let reached = new Set();
globalThis.__mutant = (id) => {
  if (mutant === null) reached.add(id);
  return id === mutant;
};

const loaded = new Map();

async function testsOf(url) {
  if (!loaded.has(url)) {
    await import(url);
    loaded.set(url, globalThis.__collected());
  }
  return loaded.get(url);
}

async function measure(urls) {
  const tests = [];
  for (const url of urls) {
    const all = await testsOf(url);
    for (const [index, { name, run }] of all.entries()) {
      reached = new Set();
      const start = performance.now();
      await Promise.resolve()
        .then(run)
        .catch((cause) => {
          throw new Error(`Fails without a mutant: ${name}`, { cause });
        });
      tests.push({ url, index, name, ms: performance.now() - start, reached: [...reached] });
    }
  }
  return tests;
}

/** The test that notices the mutant; null when none does. */
async function noticed(tests) {
  for (const test of tests)
    try {
      await (await testsOf(test.url))[test.index].run();
    } catch {
      return test;
    }
  return null;
}

parentPort.postMessage(mutant === null ? await measure(wanted) : await noticed(wanted));
