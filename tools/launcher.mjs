// The file that people start: it tells the version without loading anything, and loads the chunk that every command
// needs together with V8's code for it.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function writeLauncher(dist, version) {
  const chunk = /chunks\/(look-[\w-]+\.js)/.exec(readFileSync(join(dist, 'cli.js'), 'utf8'))?.[1];
  if (!chunk) throw new Error('cli.js names no look chunk');
  compile(dist, chunk, launcher(version, chunk));
  writeFileSync(join(dist, 'cli.cjs'), launcher(version, chunk), { mode: 0o755 });
}

function launcher(version, chunk) {
  return `#!/usr/bin/env node
'use strict';
const first = process.argv[2];
const fs = require('node:fs');
if (first === '--version' || first === '-V') fs.writeSync(1, ${JSON.stringify(`${version}\n`)});
else {
  load(__dirname + '/chunks', '/${chunk}');
  require('./cli.js');
}

// As require does, with what V8 had compiled at build time. Another version of V8 refuses that and compiles anew.
function load(dir, name) {
  const Module = require('node:module');
  const filename = dir + name;
  const text = fs.readFileSync(filename, 'utf8');
  const head = '(function (exports, require, module, __filename, __dirname) { ';
  const cachedData = fs.existsSync(filename + '.cache') ? fs.readFileSync(filename + '.cache') : undefined;
  const options = { filename, columnOffset: -head.length, cachedData };
  const script = new (require('node:vm').Script)(head + text + '\\n})', options);
  const chunk = (require.cache[filename] = new Module(filename, module));
  chunk.filename = filename;
  script.runInThisContext().call(chunk.exports, chunk.exports, Module.createRequire(filename), chunk, filename, dir);
  chunk.loaded = true;
  return script;
}
`;
}

/** Shows a status once and keeps the code that V8 made for it. */
function compile(dist, chunk, text) {
  const scratch = mkdtempSync(join(tmpdir(), 'signalbox-build-'));
  const file = join(dist, 'compile.cjs');
  const cache = join(dist, 'chunks', `${chunk}.cache`);
  const keep = `process.on('exit', () => fs.writeFileSync(${JSON.stringify(cache)}, script.createCachedData()));`;
  try {
    writeState(join(scratch, 'state', 'plans'));
    writeFileSync(file, text.replace(/^ {2}load\((.*)\);$/m, `  const script = load($1);\n  ${keep}`));
    const env = { PATH: process.env.PATH, HOME: scratch, SIGNALBOX_HOME: scratch };
    const { status, stdout, stderr } = spawnSync(process.execPath, [file, 'status'], {
      env,
      encoding: 'utf8',
    });
    if (status !== 0 || !stdout.includes('second') || !existsSync(cache))
      throw new Error(`the first status of a new build ended with ${status}: ${stdout}${stderr}`);
  } finally {
    rmSync(file, { force: true });
    rmSync(scratch, { recursive: true, force: true });
  }
}

function writeState(plans) {
  const at = '2026-01-01T00:00:00.000Z';
  const attempt = { phase: 'a', status: 'success', startedAt: at, completedAt: at, outcome: 'success' };
  const done = { status: 'complete', currentPhase: 'complete', since: at, phaseHistory: [attempt] };
  const tickets = [
    { planId: 'p', ticketId: 't1', title: 'first', ...done },
    { planId: 'p', ticketId: 't2', title: 'second' },
  ];
  mkdirSync(join(plans, 'p', 'tickets'), { recursive: true });
  const entries = tickets.map(({ ticketId }) => ({ ticketId }));
  writeFileSync(
    join(plans, 'p', 'plan.json'),
    JSON.stringify({ id: 'p', status: 'active', tickets: entries }),
  );
  for (const ticket of tickets)
    writeFileSync(join(plans, 'p', 'tickets', `${ticket.ticketId}.json`), JSON.stringify(ticket));
}
