import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Workflow } from '../../src/model/workflow.ts';
import { checkLoaded } from '../../src/workflows/check/check-workflow.ts';
import type { SearchPath } from '../../src/workflows/find-workflows-prompts-scripts.ts';
import { loadWorkflow } from '../../src/workflows/load-and-list-workflows.ts';
import { atTestEnd } from '../support/ends.ts';

export const phases = (...body: string[]) =>
  `name: w\nphases:\n${body.map((line) => `  - ${line}`).join('\n')}`;
export const FILES = { 'scripts/s.sh': '', 'prompts/p.md': 'Do {{ title }}.' };
export const D = '{id: d, type: terminal}';

const made: string[] = [];
atTestEnd(() => {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
});

/** A directory with these files, gone after the test. Scripts are executable. */
export function directory(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'signalbox-content-'));
  made.push(root);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
    if (name.endsWith('.sh')) chmodSync(join(root, name), 0o755);
  }
  return root;
}

export function searchPath(...roots: string[]): SearchPath {
  return {
    workflows: roots.map((root) => join(root, 'workflows')),
    prompts: roots.map((root) => join(root, 'prompts')),
    scripts: roots.map((root) => join(root, 'scripts')),
  };
}

/** Problems of a workflow as `line:column: message`, those of prompts with the file in front. */
export async function problemsOf(text: string, files: Record<string, string> = {}): Promise<string[]> {
  const root = directory(files);
  const problems = await checkLoaded(await loadWorkflow({ file: 'w.yaml', text }), searchPath(root));
  return problems.map(({ file, line, column, message }) => {
    const where = file === 'w.yaml' ? '' : `${file.slice(root.length + 1)}:`;
    return `${where}${line}:${column}: ${message}`.replaceAll(root, '<root>');
  });
}

export async function workflowOf(text: string): Promise<Workflow> {
  const { workflow, problems } = await loadWorkflow({ file: 'w.yaml', text });
  if (!workflow) throw new Error(JSON.stringify(problems));
  return workflow;
}
