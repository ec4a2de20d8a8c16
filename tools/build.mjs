// Bundles the CLI, the library and the rehearsal agent into dist/, with everything they need inside.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { writePacks } from './packs.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

// Built in another directory and then renamed, so that no program loads an incomplete build. A quick rebuild keeps the
// old packs: a running program may still load them.
const quick = process.argv.includes('--no-types');
const out = quick ? dist : `${dist}.${process.pid}`;
if (process.argv.includes('--if-stale') && isCurrent()) process.exit(0);
const library = { 'lib/settings': 'src/api/settings.ts', 'lib/manifest': 'src/api/manifest.ts' };
// With everything that they import.
const STATUS = /src\/cli\/commands\/status\.ts$/;
const SETTINGS = /src\/config\/load-settings\.ts$/;
// What loads slowly and is needed by few commands. The others load it where they first use it.
const SLOW =
  /\b(node_(?:child_process|crypto|dns|fs_promises|http|https|net|readline|stream|timers_promises|url|v8|zlib))(?:\.| = (require\("[\w:/]+"\)))/g;
const lazyBuiltins = {
  name: 'lazy-builtins',
  // Commander has it for subcommands that are programs of their own.
  transform: {
    filter: { id: /node_modules\/commander\/lib\/command\.js$/ },
    handler: (code) =>
      code
        .replace(/^const childProcess = require\(.*\);$/m, '')
        .replaceAll('childProcess.', `require('node:child_process').`),
  },
  renderChunk: (code) =>
    code.replace(SLOW, (_, name, loads) => (loads ? `${name} = () => ${loads}` : `${name}().`)),
};
// The quick reader of plans and tickets needs no words for people, and V8 reads JSON faster than code.
const smallSchemas = {
  name: 'small-schemas',
  load: {
    filter: { id: /schemas\/\w+\.schema\.json$/ },
    handler(id) {
      const schema = JSON.parse(readFileSync(id, 'utf8'), (key, value) =>
        key === 'description' && typeof value === 'string' ? undefined : value,
      );
      return {
        code: `export default JSON.parse(${JSON.stringify(JSON.stringify(schema))})`,
        moduleType: 'js',
      };
    },
  },
};
/** Packages whose code is in the bundles. */
const BUNDLED = ['@preact/signals', '@preact/signals-core', 'commander', 'liquidjs', 'preact', 'yaml', 'zod'];
const executables = { cli: 'src/cli/main.ts', rehearsal: 'src/rehearsal/main.ts' };
const input = {
  ...executables,
  index: 'src/api/index.ts',
  ...library,
  generate: 'src/cli/generate-docs-and-schemas.ts',
};
// Takes as long as all the rest.
const types = quick ? undefined : emitTypes();
const page = buildPage();
await build({
  cwd: root,
  input,
  platform: 'node',
  // Their ES modules start faster than their CommonJS ones, and what is not used is left out.
  resolve: {
    mainFields: ['module', 'main'],
    alias: { yaml: join(root, 'node_modules/yaml/browser/index.js') },
  },
  transform: { define: { __VERSION__: JSON.stringify(version) } },
  output: {
    dir: out,
    // CommonJS starts faster than ES modules: those load every built-in module whole before they begin.
    format: 'cjs',
    exports: 'named',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    // Opening a file takes most of a millisecond: what `status` needs is one file, without anything heavy.
    codeSplitting: {
      groups: [
        { name: 'zod', test: /node_modules\/zod\// },
        { name: 'yaml', test: /node_modules\/yaml\// },
        { name: 'liquid', test: /node_modules\/liquidjs\// },
        { name: 'commander', test: /node_modules\/commander\// },
        { name: 'status', test: STATUS },
        { name: 'settings', test: SETTINGS },
      ],
    },
    // Lines stay lines: Node shows the one that an uncaught error comes from. Licences are in THIRD-PARTY.txt.
    comments: false,
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: false } },
  },
  plugins: [lazyBuiltins, smallSchemas],
  checks: { ineffectiveDynamicImport: false },
  logLevel: 'warn',
});
writeFileSync(join(out, 'package.json'), '{ "type": "commonjs" }\n');
await page;
writePacks(out, {
  version,
  entries: Object.keys(input).map((name) => `${name}.js`),
  executables: Object.keys(executables).map((name) => `${name}.js`),
});
for (const name of ['index', ...Object.keys(library)]) writeFacade(name);
writeFileSync(join(out, 'THIRD-PARTY.txt'), licences(BUNDLED));
if (!quick) {
  const [status] = await types;
  if (status !== 0) process.exit(status ?? 1);
  carryZodTypes(join(out, 'types'));
  const old = `${out}.old`;
  if (existsSync(dist)) renameSync(dist, old);
  renameSync(out, dist);
  rmSync(old, { recursive: true, force: true });
}

/** The page of `signalbox web`: its script, the script of its worker, and what is beside them. */
async function buildPage() {
  const to = join(out, 'web');
  mkdirSync(to, { recursive: true });
  const script = (name, file) =>
    build({
      cwd: join(root, 'page'),
      input: { [name]: file },
      platform: 'browser',
      transform: { define: { __VERSION__: JSON.stringify(version) } },
      // Of modules with words for the terminal, only what the page says is taken.
      treeshake: { moduleSideEffects: (id) => !/^node:|\/src\//.test(id) },
      external: /^node:/,
      output: { dir: to, format: 'esm', entryFileNames: '[name].js', minify: true, comments: false },
      logLevel: 'warn',
    });
  await Promise.all([script('app', 'main.tsx'), script('live', 'live/live-worker.ts')]);
  for (const name of readdirSync(join(root, 'page')).filter((each) => /\.(html|css|svg)$/.test(each)))
    copyFileSync(join(root, 'page', name), join(to, name));
}

/** Exports the library's names as an ES module. */
function writeFacade(name) {
  const names = Object.keys(createRequire(import.meta.url)(join(out, `${name}.js`))).join(', ');
  const text = `import library from './${basename(name)}.js';\nexport const { ${names} } = library;\n`;
  writeFileSync(join(out, `${name}.mjs`), text);
}

/** Whether the build is newer than all of its inputs. */
function isCurrent() {
  const built = existsSync(join(dist, 'types')) ? statSync(join(dist, 'cli.cjs')).mtimeMs : 0;
  const inputs = [
    'package.json',
    'package-lock.json',
    'tools/build.mjs',
    'tools/packs.mjs',
    'tools/first-runs.mjs',
    ...readdirSync(join(root, 'schemas')).map((name) => join('schemas', name)),
    ...['src', 'page'].flatMap((dir) =>
      readdirSync(join(root, dir), { recursive: true }).map((name) => join(dir, name)),
    ),
  ];
  return inputs.every((name) => statSync(join(root, name)).mtimeMs <= built);
}

/** The bundle contains these packages, so it needs their licences. */
function licences(names) {
  return names.map((name) => `${name}\n\n${licence(join(root, 'node_modules', name))}`).join('\n\n----\n\n');
}

function licence(dir) {
  const file = readdirSync(dir).find((each) => /^licen[cs]e/i.test(each));
  return file
    ? readFileSync(join(dir, file), 'utf8').trim()
    : `${JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')).license}`;
}

/** Types are checked by `npm run typecheck`. */
function emitTypes() {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  if (!existsSync(tsc)) throw new Error('TypeScript is not installed: run npm ci');
  const args = [
    '--declaration',
    '--emitDeclarationOnly',
    '--noCheck',
    '--noEmit',
    'false',
    '--outDir',
    join(out, 'types'),
    '--rootDir',
    'src',
    '--project',
    'tsconfig.build.json',
  ];
  return once(spawn(process.execPath, [tsc, ...args], { cwd: root, stdio: 'inherit' }), 'exit');
}

/** Our types are made from zod schemas, so zod's declarations are copied into the package. */
function carryZodTypes(types) {
  // CommonJS declarations work for `import` and `require`; those of ES modules only for `import`.
  writeFileSync(join(types, 'package.json'), '{ "type": "commonjs" }\n');
  const zod = join(root, 'node_modules', 'zod');
  const carried = (name) =>
    name === 'index.d.ts' ||
    (/^v4[/\\](core|classic|locales)[/\\]/.test(name) && name.endsWith('.d.ts') && !name.includes('tests'));
  for (const name of readdirSync(zod, { recursive: true }).filter(carried)) {
    mkdirSync(dirname(join(types, 'zod', name)), { recursive: true });
    copyFileSync(join(zod, name), join(types, 'zod', name));
  }
  for (const name of readdirSync(types, { recursive: true })) {
    if (!name.endsWith('.d.ts') || name.startsWith('zod')) continue;
    const file = join(types, name);
    const up = relative(dirname(name), 'zod/index.js');
    const path = up.startsWith('.') ? up : `./${up}`;
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replaceAll(/(from |import\()(['"])zod\2/g, `$1$2${path}$2`));
  }
}
