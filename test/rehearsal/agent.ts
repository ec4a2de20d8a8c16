import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fromTemplate, GIT_CONFIG } from '../support/repo.ts';

export const root = fileURLToPath(new URL('../../', import.meta.url));

interface Said {
  type: string;
  [key: string]: unknown;
}

export interface Rehearsed {
  code: number | null;
  signal: NodeJS.Signals | null;
  lines: Said[];
  /** Raw standard output. */
  stdout: string;
  stderr: string;
  last: Said | undefined;
}

interface Call {
  cwd?: string;
  access?: 'read' | 'write' | 'full';
  args?: string[];
  resume?: boolean;
  prompt?: string;
  env?: Record<string, string>;
  /** Written to a JSON file; a string is a path. */
  scenario?: unknown;
  schema?: unknown;
}

/** A temporary place with an empty home and a repository with one commit. */
export interface Bench {
  dir: string;
  home: string;
  repo: string;
  git(...args: string[]): string;
  start(call?: Call): ChildProcess;
  rehearse(call?: Call): Promise<Rehearsed>;
  remove(): void;
}

export function makeBench(): Bench {
  const dir = mkdtempSync(join(tmpdir(), 'rehearsal-'));
  const home = join(dir, 'home');
  const repo = join(dir, 'repo');
  mkdirSync(home);
  const base = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: GIT_CONFIG,
  };
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: repo, env: base, encoding: 'utf8' }).trim();
  fromTemplate('rehearsal', repo, (path) => {
    const begin = (...args: string[]) => execFileSync('git', args, { cwd: path, env: base });
    begin('init', '--quiet', '--template=', '--initial-branch=main');
    mkdirSync(join(path, '.git/hooks'));
    const author = ['-c', 'user.name=Tester', '-c', 'user.email=tester@localhost'];
    begin(...author, 'commit', '--quiet', '--allow-empty', '-m', 'Begin');
  });

  const toFile = (name: string, value: unknown) => {
    if (typeof value === 'string') return value;
    writeFileSync(join(dir, name), JSON.stringify(value));
    return join(dir, name);
  };
  const start = (call: Call = {}) => {
    const args = [call.resume ? '--resume' : '--session', 'session-1', '--access', call.access ?? 'write'];
    if (call.scenario !== undefined) args.push('--scenario', toFile('scenario.json', call.scenario));
    if (call.schema !== undefined) args.push('--schema', toFile('schema.json', call.schema));
    const env = {
      ...base,
      SIGNALBOX_PLAN: 'plan',
      SIGNALBOX_TICKET: 'T-1',
      SIGNALBOX_PHASE: 'implement',
      ...call.env,
    };
    const child = spawn(process.execPath, [join(root, 'dist/rehearsal.js'), ...(call.args ?? args)], {
      cwd: call.cwd ?? repo,
      env,
    });
    child.stdin.on('error', () => 'the agent may end before it has read');
    child.stdin.end(call.prompt ?? '# Make tea\nHot.\n');
    return child;
  };
  const rehearse = (call?: Call) => collect(start(call));
  const remove = () => rmSync(dir, { recursive: true, force: true });
  return { dir, home, repo, git, start, rehearse, remove };
}

function collect(child: ChildProcess): Promise<Rehearsed> {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      const lines = stdout
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Said);
      resolve({ code, signal, stdout, stderr, lines, last: lines.at(-1) });
    });
  });
}
