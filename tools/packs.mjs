// Puts what was bundled into a few files, each with V8's code for it: a start opens a few files instead of dozens and
// compiles almost nothing. The first runs of a new build decide which modules are packed together.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { firstRuns } from './first-runs.mjs';

const NOTE_MODULES = `require('node:fs').writeFileSync(process.env.NOTED, JSON.stringify([...loader.modules.keys()]));`;
// `status` reads its code anew each time it starts, so its pack has only what `status` itself compiled.
const KEEP_CODE = `const fs = require('node:fs');
  for (const { filename, script } of loader.packs.values())
    if (!filename.includes('/packs/status-') || !fs.existsSync(filename + '.cache'))
      fs.writeFileSync(filename + '.cache', script.createCachedData());`;

/** Packs the modules below `dist` and writes the files that are started and imported in their place. */
export function writePacks(dist, { version, entries, executables }) {
  const modules = readModules(dist, entries);
  mkdirSync(join(dist, 'packs'), { recursive: true });
  for (const name of entries) writeEntry(dist, name, executables.includes(name) ? 0o755 : 0o644);
  rmSync(join(dist, 'cli.js'));

  const whole = writePack(dist, 'all', modules);
  writeLoaders(dist, version, [whole]);
  const runs = firstRuns(dist, NOTE_MODULES);
  const packs = [...together(modules, runs)].map(([name, members]) => writePack(dist, name, members));
  writeLoaders(dist, version, packs);
  // One after the other: each keeps what those before it had compiled.
  firstRuns(dist, KEEP_CODE);
  rmSync(join(dist, 'packs', whole.file));
  rmSync(join(dist, 'chunks'), { recursive: true });
}

/** Name and text of each module, with the paths of others in it as the loader knows them. */
function readModules(dist, entries) {
  const chunks = readdirSync(join(dist, 'chunks')).map((name) => `chunks/${name}`);
  return [...entries, ...chunks].map((name) => {
    const text = readFileSync(join(dist, name), 'utf8').replace(/^#!.*\n/, '');
    const known = (_, path) => `require("${normalize(join(dirname(name), path))}")`;
    // A module of another package that is optional: only the loader is a file that can import one.
    const imported = text.replaceAll(/\bimport\(/g, 'require.import(');
    return { name, text: imported.replaceAll(/\brequire\("(\.[^"]+)"\)/g, known) };
  });
}

/** Groups each module with the others of the first run that loaded it; one that none has loaded is read alone. */
function together(modules, runs) {
  const packs = new Map();
  for (const module of modules) {
    const name =
      runs.find(({ noted }) => noted.includes(module.name))?.name ?? `rest-${basename(module.name, '.js')}`;
    packs.set(name, [...(packs.get(name) ?? []), module]);
  }
  return packs;
}

/** One expression: an object with a function for each module. */
function writePack(dist, name, modules) {
  const functions = modules.map(
    ({ name, text }) => `${JSON.stringify(name)}(exports,require,module,__filename){${text}\n}`,
  );
  // One byte for each character: V8 needs no conversion and half the memory.
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const text = `({${functions.join(',\n')}})`.replaceAll(/[^\0-\x7f]/g, escaped);
  const file = `${name}-${createHash('sha256').update(text).digest('hex').slice(0, 8)}.js`;
  writeFileSync(join(dist, 'packs', file), text);
  return { file, names: modules.map(({ name }) => name) };
}

function writeEntry(dist, name, mode) {
  const up = name.includes('/') ? '../' : './';
  const text = `#!/usr/bin/env node\nmodule.exports = require('${up}load.cjs').load('${name}');\n`;
  rmSync(join(dist, name));
  writeFileSync(join(dist, name), text, { mode });
}

const versionOrLoad = (version) => `const first = process.argv[2];
if (first === '--version' || first === '-V') require('node:fs').writeSync(1, ${JSON.stringify(`${version}\n`)});
else load('cli.js');
`;

/** The command has the loader inside: finding and opening another file takes half a millisecond. */
function writeLoaders(dist, version, packs) {
  const homes = Object.fromEntries(packs.flatMap(({ names }, index) => names.map((name) => [name, index])));
  const text = loader(
    packs.map(({ file }) => file),
    homes,
  );
  writeFileSync(join(dist, 'load.cjs'), text);
  const command = `#!/usr/bin/env node\n${text}${versionOrLoad(version)}`;
  writeFileSync(join(dist, 'cli.cjs'), command, { mode: 0o755 });
}

const loader = (files, homes) => `'use strict';
const fs = require('node:fs');
const files = ${JSON.stringify(files)};
const homes = ${JSON.stringify(homes)};
const packs = new Map();
const modules = new Map();
Object.assign(exports, { load, modules, packs });
load.import = (url) => import(url);

// Like require, but finds our own modules in packs.
function load(name) {
  const home = homes[name];
  if (home === undefined) return require(name);
  let module = modules.get(name);
  if (module === undefined) {
    const { functions } = packs.get(home) ?? open(home);
    modules.set(name, (module = { exports: {} }));
    functions[name].call(module.exports, module.exports, load, module, __dirname + '/' + name);
  }
  return module.exports;
}

// Uses the code that V8 compiled at build time. Another version of V8 rejects it and compiles again.
function open(home) {
  const filename = __dirname + '/packs/' + files[home];
  const text = fs.readFileSync(filename, 'latin1');
  const cachedData = fs.existsSync(filename + '.cache') ? fs.readFileSync(filename + '.cache') : undefined;
  const script = new (require('node:vm').Script)(text, { filename, cachedData });
  const pack = { filename, script, functions: script.runInThisContext() };
  packs.set(home, pack);
  return pack;
}
`;
