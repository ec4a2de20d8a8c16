// Finds what breaks the rules of the rooms: imports point downwards, no cycles, small folders, one meaning per exported name.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { BESIDE, COMPUTED_IMPORTS, ROOMS, SHARED_FEATURES, STORE_DOORS } from './rooms.mjs';

const MAX_FILES_IN_FOLDER = 30;
/** One import upwards closes hundreds. */
const MAX_CYCLES_SHOWN = 10;
/** The library may take the process's own as what a parameter is when the caller says nothing, and nowhere else. */
const PRESETS = /(?<=[{,(]\s*)(?:cwd = process\.cwd\(\)|env = process\.env)(?=\s*[,}])/g;
const TOUCH =
  /\bprocess\.(?:exit|stdin\b|stdout\b|stderr\b|argv\b|env\b|cwd\b|chdir\b)|\} = process\s*;|'node:process'|^[^/*]*\bconsole\./m;
/** The text of a program that another process runs. */
const FOREIGN = ['agents/pi-extension.ts'];
const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g;
/** Imports, files and exports in a form that the rules below do not read. */
const ODD_IMPORT =
  /(?:^(?:import|export|\})[^'"`\n]*?\bfrom|^import|\bimport\()\s*(?:\/[*/]|["`]|'(?:\.[^']*(?<!\.tsx?|\.json|\.css)'|[/#]|signalbox\b))/m;
const COMPUTED_IMPORT = /\bimport\s*\(\s*[^'"`/\s]|\bcreateRequire\b|\brequire\s*\(|\.getBuiltinModule\b/;
const ODD_EXPORT = /^export (?:default|declare|(?:const|let) [{[]|\{[^}]*\}(?!\s*from))/m;
const ODD_FILE = /\.[cm]ts$|\.[cm]?jsx?$/;
const EXPORT = /^export (?:async |abstract )?(?:function\*?|const|class|interface|type|let) (\w+)/gm;

/** Problems in the tree of source files below `src`, by rule. */
export function roomProblems(src) {
  const order = ROOMS.map(([name]) => name);
  const all = readdirSync(src, { recursive: true })
    .map((name) => name.split(sep).join('/'))
    .sort();
  const files = all.filter((name) => /\.tsx?$/.test(name));
  const texts = new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]));
  const targets = new Map(files.map((file) => [file, importsOf(file)]));
  const imports = new Map(files.map((file) => [file, targets.get(file).filter((to) => texts.has(to))]));
  return {
    oddForms: [
      ...all
        .filter((file) => ODD_FILE.test(file))
        .map((file) => `src/${file}: source files end in .ts or .tsx`),
      ...files.filter((file) => !FOREIGN.includes(file)).flatMap(oddForms),
    ],
    upward: [...edges()].filter(([from, to]) => !mayUse(roomOf(from), roomOf(to))).map(say),
    outward: files.flatMap((file) =>
      targets
        .get(file)
        .filter(isOutside)
        .map((to) => say([file, to])),
    ),
    betweenFeatures: [...edges()].filter(([from, to]) => crossesFeatures(from, to)).map(say),
    insideStore: [...edges()].filter(([from, to]) => entersStore(from, to)).map(say),
    inCycles: cycleProblems(),
    largeFolders: largeFolders(),
    sameName: sameNames(),
    startsProcesses: files
      .filter(startsProcesses)
      .map((file) => `src/${file}: processes are started by src/machine/run-process.ts or as jobs`),
    touchesProcess: files
      .filter(touchesProcess)
      .map((file) => `src/${file}: only src/cli touches the process`),
  };

  function importsOf(file) {
    const targets = [...texts.get(file).matchAll(IMPORT)].map(([, target]) =>
      relative(src, resolve(dirname(join(src, file)), target))
        .split(sep)
        .join('/'),
    );
    return [...new Set(targets)];
  }

  /** The generated schemas are data. */
  function isOutside(target) {
    return target.startsWith('../') && !target.startsWith('../schemas/');
  }

  function* edges() {
    for (const [from, targets] of imports) for (const to of targets) yield [from, to];
  }

  function say([from, to]) {
    return `src/${from} must not import ${join('src', to)}`;
  }

  function roomOf(file) {
    return file.split('/')[0];
  }

  function mayUse(from, to) {
    if (BESIDE[from]) return BESIDE[from].uses.includes(to);
    return order.includes(from) && order.indexOf(to) >= order.indexOf(from);
  }

  function entersStore(from, to) {
    const [room, ...rest] = to.split('/');
    return room === 'store' && roomOf(from) !== 'store' && !STORE_DOORS.includes(rest.join('/'));
  }

  function crossesFeatures(from, to) {
    if (roomOf(from) !== 'features' || roomOf(to) !== 'features') return false;
    const [a, b] = [from.split('/')[1], to.split('/')[1]];
    if (a === b) return false;
    const rank = (name) => SHARED_FEATURES.indexOf(name);
    return rank(b) < 0 || (rank(a) >= 0 && rank(a) < rank(b));
  }

  function oddForms(file) {
    const text = texts.get(file);
    return [
      ...(ODD_IMPORT.test(text)
        ? [`src/${file}: imports are written from './name.ts', in single quotes and with the ending`]
        : []),
      ...(COMPUTED_IMPORT.test(text) && !COMPUTED_IMPORTS[file]
        ? [`src/${file}: what is loaded by a computed name is listed in tools/rooms.mjs, with the reason`]
        : []),
      ...(ODD_EXPORT.test(text)
        ? [`src/${file}: exports are named functions, classes, types or single values`]
        : []),
    ];
  }

  function cycleProblems() {
    const found = cycles().map((cycle) => `import cycle: ${cycle.join(' → ')}`);
    const more = found.length - MAX_CYCLES_SHOWN;
    return more > 0 ? [...found.slice(0, MAX_CYCLES_SHOWN), `and ${more} more import cycles`] : found;
  }

  /** One shortest cycle for each import that closes one; type imports count. */
  function cycles() {
    const seen = new Set();
    const found = [];
    for (const [from, to] of edges()) {
      const path = pathBetween(to, from);
      if (!path) continue;
      const key = [...path].sort().join('|');
      if (!seen.has(key)) found.push([from, ...path]);
      seen.add(key);
    }
    return found;
  }

  function pathBetween(start, goal) {
    const before = new Map([[start, undefined]]);
    const queue = [start];
    for (const file of queue) {
      if (file === goal) {
        const path = [];
        for (let at = file; at !== undefined; at = before.get(at)) path.unshift(at);
        return path;
      }
      for (const next of imports.get(file)) {
        if (before.has(next)) continue;
        before.set(next, file);
        queue.push(next);
      }
    }
    return undefined;
  }

  function largeFolders() {
    return [...groupBy(files, dirname)]
      .filter(([, members]) => members.length > MAX_FILES_IN_FOLDER)
      .map(
        ([folder, members]) =>
          `src/${folder} has ${members.length} files; at most ${MAX_FILES_IN_FOLDER} are allowed.`,
      );
  }

  function sameNames() {
    return [...groupBy(files, roomOf)].flatMap(([room, members]) => {
      const owners = new Map();
      for (const file of members)
        for (const [, name] of texts.get(file).matchAll(EXPORT)) {
          const at = owners.get(name) ?? new Set();
          owners.set(name, at.add(file));
        }
      return [...owners]
        .filter(([, at]) => at.size > 1)
        .map(([name, at]) => `src/${room} exports ${name} more than once: ${[...at].join(', ')}`);
    });
  }

  function groupBy(items, key) {
    const groups = new Map();
    for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
    return groups;
  }

  /** The command line starts what takes over its terminal, and its daemon. */
  function startsProcesses(file) {
    return (
      !['machine', 'cli', 'rehearsal'].includes(roomOf(file)) &&
      /(?:from |import\(\s*)'node:child_process'/.test(texts.get(file))
    );
  }

  function touchesProcess(file) {
    const room = roomOf(file);
    if (room === 'cli' || room === 'rehearsal' || FOREIGN.includes(file)) return false;
    const text = room === 'api' ? texts.get(file).replace(PRESETS, '') : texts.get(file);
    return TOUCH.test(text);
  }
}
