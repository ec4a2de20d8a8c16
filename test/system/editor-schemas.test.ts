import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect } from 'vitest';
import { provide } from '../../tools/agents/install.mjs';
import { it, waitFor } from '../support/index.ts';
import type { World } from '../support/world.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** What editors use: VS Code's YAML extension, vim, Emacs and others the first, VS Code itself the second. */
const YAML = {
  package: 'yaml-language-server',
  version: '1.25.0',
  bin: 'node_modules/.bin/yaml-language-server',
};
const JSON_SERVICE = {
  package: 'vscode-json-languageservice',
  version: '5.7.2',
  bin: 'node_modules/vscode-json-languageservice/package.json',
};

/** Installs the package as users do, and lets it create a home and the settings of a project. */
function initGlobally({ dir, repo }: World): { home: string; settings: string } {
  const npm = (...args: string[]) => execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8' });
  const file = npm('pack', '--silent', '--ignore-scripts', '--pack-destination', dir).trim();
  const prefix = join(dir, 'global');
  npm(
    'install',
    '--silent',
    '--global',
    '--offline',
    '--ignore-scripts',
    '--prefix',
    prefix,
    join(dir, file),
  );
  const user = join(dir, 'editor-user');
  mkdirSync(user);
  const env = { HOME: user, PATH: process.env.PATH };
  execFileSync(join(prefix, 'bin', 'signalbox'), ['init', '--yes'], { cwd: repo, env });
  return { home: join(user, '.signalbox'), settings: join(repo, '.signalbox', 'settings.json') };
}

/** What the language server says about files, by file. */
async function yamlProblems(files: readonly string[]): Promise<Record<string, string[]>> {
  const server = spawn(join(provide('yaml-language-server', YAML), YAML.bin), ['--stdio'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const found: Record<string, string[]> = {};
  const send = (message: object) => {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    server.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  };
  const answer = ({ id, method, result, params }: Message) => {
    if (id === 1 && result) {
      send({ method: 'initialized', params: {} });
      for (const file of files) {
        const text = readFileSync(file, 'utf8');
        const textDocument = { uri: pathToFileURL(file).href, languageId: 'yaml', version: 1, text };
        send({ method: 'textDocument/didOpen', params: { textDocument } });
      }
    } else if (method === 'textDocument/publishDiagnostics' && params)
      found[fileURLToPath(params.uri)] = params.diagnostics.map(({ message }) => message);
    else if (id !== undefined && method) send({ id, result: params?.items?.map(() => null) ?? null });
  };
  let read = Buffer.alloc(0);
  server.stdout.on('data', (data: Buffer) => {
    read = Buffer.concat([read, data]);
    for (;;) {
      const head = /^Content-Length: (\d+)[\s\S]*?\r\n\r\n/.exec(read.toString('latin1'));
      const end = head ? head[0].length + Number(head[1]) : Number.POSITIVE_INFINITY;
      if (!head || read.length < end) return;
      answer(JSON.parse(read.toString('utf8', head[0].length, end)) as Message);
      read = read.subarray(end);
    }
  });
  try {
    send({
      id: 1,
      method: 'initialize',
      params: { processId: process.pid, rootUri: null, capabilities: {} },
    });
    await waitFor('the language server to check all files', () => files.every((file) => found[file]));
    return found;
  } finally {
    server.kill();
  }
}

interface Message {
  id?: number;
  method?: string;
  result?: object;
  params?: { uri: string; diagnostics: { message: string }[]; items?: unknown[] };
}

/** What VS Code would say about this text in a JSON file. */
async function jsonProblems(file: string, text: string): Promise<string[]> {
  const home = provide('vscode-json-languageservice', JSON_SERVICE);
  const { getLanguageService, TextDocument } = createRequire(join(home, 'package.json'))(
    'vscode-json-languageservice',
  );
  const service = getLanguageService({
    // A schema that is not a file would need a network.
    schemaRequestService: async (uri: string) => readFileSync(fileURLToPath(uri), 'utf8'),
    workspaceContext: {
      resolveRelativePath: (path: string, from: string) =>
        pathToFileURL(resolve(dirname(fileURLToPath(from)), path)).href,
    },
  });
  const document = TextDocument.create(pathToFileURL(file).href, 'json', 1, text);
  const problems = await service.doValidation(document, service.parseJSONDocument(document));
  return problems.map(({ message }: { message: string }) => message);
}

describe('schemas for editors, after a global install', () => {
  it('are found without a network, and find mistakes', async ({ world }) => {
    const { home, settings } = initGlobally(world);
    const good = join(home, 'config.yaml');
    const write = (name: string, text: string) => {
      writeFileSync(join(home, name), text);
      return join(home, name);
    };
    const bad = write('bad.yaml', `${readFileSync(good, 'utf8')}\nmaxConcurrency: many\n`);
    const line = '$schema=../schemas/workflow.schema.json';
    const byComment = write('workflows/a.yaml', `# yaml-language-server: ${line}\nname: a\nphases: 3\n`);
    const byKey = write('workflows/b.yaml', `${line.replace('=', ': ')}\nname: b\nphases: 3\n`);
    expect(await yamlProblems([good, bad, byComment, byKey])).toEqual({
      [good]: [],
      [bad]: ['Incorrect type. Expected "integer".'],
      [byComment]: ['Incorrect type. Expected "array".'],
      [byKey]: ['Incorrect type. Expected "array".'],
    });

    const text = readFileSync(settings, 'utf8');
    expect(await jsonProblems(settings, text)).toEqual([]);
    expect(await jsonProblems(settings, text.replace('"version"', '"maxConcurency": 3, "version"'))).toEqual([
      'Property maxConcurency is not allowed.',
    ]);
  });
});
