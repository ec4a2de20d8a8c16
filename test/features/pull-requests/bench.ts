import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openEngine } from '../../../src/api/open-engine-with-features.ts';
import { loadSettings } from '../../../src/config/load-settings.ts';
import type { EngineContext } from '../../../src/engine/context.ts';
import { workspaceFor } from '../../../src/engine/work-out-workspace-and-repository.ts';
import {
  type OpenedPullRequest,
  openPullRequest,
} from '../../../src/features/pull-requests/push-and-open-pull-request.ts';
import { FakeGh, type FakePullRequest } from '../../support/gh/fake-gh.ts';
import type { World } from '../../support/index.ts';
import { git } from '../../support/index.ts';

/** A repository with a bare origin, a scripted GitHub that knows it, and tickets with work. */
export class Bench {
  readonly world: World;
  readonly origin: string;
  readonly gh: FakeGh;

  constructor(world: World) {
    this.world = world;
    this.origin = join(world.dir, 'origin.git');
    git(world.dir, 'clone', '--quiet', '--bare', world.repo, this.origin);
    git(world.repo, 'remote', 'add', 'origin', this.origin);
    git(world.repo, 'fetch', '--quiet', 'origin');
    git(world.repo, 'remote', 'set-head', 'origin', 'main');
    const repository = { nameWithOwner: 'acme/web', git: this.origin, issues: [], pullRequests: [] };
    this.gh = new FakeGh(join(world.dir, 'github'), { repositories: [repository] });
    world.config({ ghCommand: FakeGh.command });
  }

  get env(): NodeJS.ProcessEnv {
    return { ...this.world.env, GH_FAKE_FILE: this.gh.file };
  }

  async parts(env: NodeJS.ProcessEnv = {}): Promise<EngineContext> {
    const all = { ...this.env, ...env };
    const { dir } = this.world;
    const settings = await loadSettings({ cwd: dir, env: all, flags: {}, packageDir: dir });
    return openEngine({ settings, env: all, by: 'test' });
  }

  /** Gives origin an address on GitHub and returns the variables with which it leads to the bare repository. */
  overSsh(address: string): NodeJS.ProcessEnv {
    git(this.world.repo, 'remote', 'set-url', 'origin', address);
    const ssh = join(this.world.dir, 'bin', 'ssh-to-origin');
    writeFileSync(
      ssh,
      `#!/bin/sh
for last; do :; done
case $last in git-receive-pack*) exec git-receive-pack '${this.origin}' ;; git-upload-pack*) exec git-upload-pack '${this.origin}' ;; esac
exit 1
`,
    );
    chmodSync(ssh, 0o755);
    return { GIT_SSH_COMMAND: ssh };
  }

  /** Makes the worktree of a ticket as the engine does, and commits these files in it. */
  async work(
    ticketId: string,
    files: Record<string, string> = { [`${ticketId}.txt`]: 'work\n' },
    env: NodeJS.ProcessEnv = {},
  ): Promise<string> {
    const parts = await this.parts(env);
    const ref = { planId: 'p', ticketId };
    const ticket = parts.store.ticket(ref);
    const spec = workspaceFor(ticket, parts.store.plan('p'), parts.settings, parts.store.view());
    const { base, branch, path } = await parts.workspaces.ensure(spec);
    await parts.store.updateTicket(ref, (latest) => ({ ...latest, base, branch }));
    if (Object.keys(files).length > 0) this.commit(path, files);
    return path;
  }

  commit(path: string, files: Record<string, string>): string {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(path, name)), { recursive: true });
      writeFileSync(join(path, name), text);
    }
    git(path, 'add', '--all');
    git(path, 'commit', '--quiet', '--message=Work');
    return git(path, 'rev-parse', 'HEAD');
  }

  async open(ticketId: string, env: NodeJS.ProcessEnv = {}): Promise<OpenedPullRequest> {
    return openPullRequest(await this.parts(env), { planId: 'p', ticketId });
  }

  pulls(): FakePullRequest[] {
    return this.gh.read().repositories[0]?.pullRequests ?? [];
  }

  tip(branch: string, where = this.origin): string {
    return git(where, 'rev-parse', `refs/heads/${branch}`);
  }

  /** `what state` of every line of a ticket's journal. */
  journal(ticketId: string): string[] {
    const file = join(this.world.stateDir, 'jobs', 'p', ticketId, 'forge.jsonl');
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    return lines.map((line) => {
      const { what, state } = JSON.parse(line) as { what: string; state: string };
      return `${what} ${state}`;
    });
  }
}

/** What `run 12` would write into a ticket. */
export function issue(number: number, more: Record<string, unknown> = {}) {
  const source = { key: `github:acme/web#${number}`, number, labels: [], url: null, repository: 'acme/web' };
  return { title: 'Add a thing', branch: `feature/${number}-add-a-thing`, source: { ...source, ...more } };
}

export async function failure(
  promise: Promise<unknown>,
): Promise<{ code: string; message: string; hint: string }> {
  try {
    await promise;
  } catch (error) {
    const { code, message, hint } = error as { code: string; message: string; hint?: string };
    return { code, message, hint: hint ?? '' };
  }
  throw new Error('expected an error');
}
