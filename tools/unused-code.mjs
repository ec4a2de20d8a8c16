// Finds exports of src/ that no other file imports, and files that no entry point reaches.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';

/** Programs and modules that the build makes. What they export is for users. */
export const ENTRY_POINTS = [
  'cli/main.ts',
  'rehearsal/main.ts',
  'api/index.ts',
  'api/settings.ts',
  'api/manifest.ts',
  'cli/generate-docs-and-schemas.ts',
];
const DECLARED =
  /^export (?:default )?(?:async |abstract )?(?:function\*?|const|class|interface|type|let) (\w+)/gm;
/** Declarations can only be made of a function whose types can be named elsewhere. */
const SIGNATURE = /^export (?:async )?function(?:[^\n]*\)[^\n]* \{$|[\s\S]*?^[)}][^\n]*\{$)/gm;
const DECLARED_TYPE = /^export (?:interface|type) (\w+)/gm;
const LISTED = /^export (?:type )?\{([^}]*)\}(?: from '(\.[^']+)')?/gm;
const ALL_FORWARDED = /^export (?:type )?\* from '(\.[^']+)'/gm;
const NAMED_IMPORT = /^import (?:type )?(?:(\w+),? )?(?:\{([^}]*)\} )?from '(\.[^']+)'/gm;
const WHOLE_IMPORT = /^import (?:type )?(\* as \w+ from )?'(\.[^']+)'/gm;
/** `const { a } = await import('…')`, `(await import('…')).a` and `import('…').A`; every other `import()` uses all names. */
const LAZY_IMPORT = /(?:\{([^{}]*)\} = await )?\bimport\(\s*'(\.[^']+)'\s*,?\s*\)(?:\)?\.(?!then\b)(\w+))?/g;

/** `const plan = () => import('…')`, of which `(await plan()).a` uses one name. */
const LOADER = /^const (\w+) = \(\) => import\('(\.[^']+)'\);$/gm;

/**
 * Problems of the files below `src`. Files of `users` import from it as well. Files of `tests` may import what its own
 * file also uses: a step of it that is tested alone.
 */
export function unusedCode(src, { entries = ENTRY_POINTS, users = [], tests = [] } = {}) {
  const files = new Map(sourceFiles(src).map((file) => [file, parse(src, join(src, file))]));
  const outside = (dirs) =>
    dirs.flatMap((dir) => sourceFiles(dir).map((file) => parse(src, join(dir, file))));
  const used = new Map([...files.keys()].map((file) => [file, new Set()]));
  for (const { uses } of [...files.values(), ...outside(users)])
    for (const { file, names } of uses) for (const name of names) use(file, name);
  for (const entry of entries) for (const file of files.get(entry)?.forwards ?? []) use(file, '*');
  for (const { uses } of outside(tests))
    for (const { file, names } of uses)
      for (const name of names) if (files.get(file)?.inner.has(name)) use(file, name);
  const reached = new Set();
  for (const entry of entries) reach(entry);
  return {
    unusedExports: [...files].flatMap(([file, { names }]) =>
      entries.includes(file)
        ? []
        : names
            .filter((name) => !used.get(file).has(name) && !used.get(file).has('*'))
            .map((name) => `src/${file} exports ${name}: no other file uses it, and no test of its own`),
    ),
    unusedFiles: [...files.keys()]
      .filter((file) => !reached.has(file))
      .map((file) => `src/${file} is not reached from an entry point (tools/unused-code.mjs lists them)`),
  };

  function use(file, name) {
    if (!files.has(file) || used.get(file).has(name)) return;
    used.get(file).add(name);
    if (!files.get(file).names.includes(name)) for (const next of files.get(file).forwards) use(next, name);
  }

  function reach(file) {
    if (!files.has(file) || reached.has(file)) return;
    reached.add(file);
    const { uses, forwards } = files.get(file);
    for (const next of [...uses.map((one) => one.file), ...forwards]) reach(next);
  }
}

function sourceFiles(dir) {
  return readdirSync(dir, { recursive: true })
    .filter((name) => /\.(?:tsx?|m[tj]s|js)$/.test(name))
    .map((name) => name.split(sep).join('/'))
    .sort();
}

/** What a file exports and also uses itself, what it takes from which file, and the files of which it forwards everything. */
function parse(src, path) {
  const text = withoutComments(readFileSync(path, 'utf8'));
  const at = (target) =>
    relative(src, resolve(dirname(path), target))
      .split(sep)
      .join('/');
  const matches = (pattern) => [...text.matchAll(pattern)];
  const listed = matches(LISTED);
  const signatures = matches(SIGNATURE).join('\n');
  const signatureTypes = matches(DECLARED_TYPE)
    .map(([, name]) => name)
    .filter((name) => new RegExp(`\\b${name}\\b`).test(signatures));
  const names = [
    ...matches(DECLARED)
      .map(([, name]) => name)
      .filter((name) => !signatureTypes.includes(name)),
    ...listed.flatMap(([, list]) => namesIn(list).map(([, shown]) => shown)),
  ];
  const loaders = matches(LOADER);
  const lazy = [...text.replaceAll(LOADER, '').matchAll(LAZY_IMPORT)];
  return {
    names,
    inner: new Set(names.filter((name) => text.split(new RegExp(`\\b${name}\\b`)).length > 2)),
    uses: [
      ...listed.filter(([, , target]) => target).map(([, list, target]) => taken(target, list)),
      ...matches(NAMED_IMPORT).map(([, preset, list, target]) =>
        preset && preset !== 'type' ? { file: at(target), names: ['*'] } : taken(target, list),
      ),
      ...matches(WHOLE_IMPORT).map(([, all, target]) => ({ file: at(target), names: all ? ['*'] : [] })),
      ...loaders.map(([, loader, target]) => ({
        file: at(target),
        names: matches(new RegExp(`\\(await ${loader}\\(\\)\\)\\.(\\w+)`, 'g')).map(([, name]) => name),
      })),
      ...lazy.map(([, list, target, name]) =>
        list ? taken(target, list) : { file: at(target), names: [name ?? '*'] },
      ),
    ],
    forwards: matches(ALL_FORWARDED).map(([, target]) => at(target)),
  };

  function taken(target, list = '') {
    return { file: at(target), names: namesIn(list).map(([name]) => name) };
  }
}

/** Comments may name files and exports that they do not use. */
function withoutComments(text) {
  return text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '');
}

/** The names of `{ a, type b as c, d: e }`, each as it is in the other file and as it is called here. */
function namesIn(list) {
  return list
    .replaceAll(/\/\/.*$/gm, '')
    .split(',')
    .map((part) => part.trim().replace(/^type /, ''))
    .filter(Boolean)
    .map((part) => {
      const [name, alias = name] = part.split(/ as |: */);
      return [name, alias];
    });
}
