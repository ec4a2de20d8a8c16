import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Ticket } from '../../../src/model/ticket.ts';
import { type FakeCheck, FakeGh, type FakePullRequest } from '../../support/gh/fake-gh.ts';
import { git, type World, waitFor } from '../../support/index.ts';
import { Bench } from './bench.ts';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A forge on this machine, the shipped workflows with short waits, and the people who review there. */
export class Hub extends Bench {
  /** `rules` go before those of the shipped scenario. */
  constructor(world: World, workflow: 'standard' | 'bugfix' | 'manual-pr', rules: unknown[] = []) {
    super(world);
    const shipped = join(ROOT, 'rehearsals', `${workflow === 'bugfix' ? 'bugfix' : 'standard'}.yaml`);
    const file = join(world.dir, 'scenario.yaml');
    const own = rules.map((rule) => `- ${JSON.stringify(rule)}\n`).join('');
    writeFileSync(file, own + readFileSync(shipped, 'utf8'));
    world.config({
      defaultAgent: 'rehearsal',
      defaultWorkflow: workflow,
      maxConcurrency: 4,
      checks: ['test ! -e BROKEN'],
      forge: { cacheSeconds: 0 },
      agents: { rehearsal: { defaultArgs: ['--scenario', file] } },
    });
    const text = readFileSync(join(ROOT, 'workflows', `${workflow}.yaml`), 'utf8');
    const quick = text
      .replace(/intervalSeconds: \d+/g, 'intervalSeconds: 0.5')
      .replace(/, delaySeconds: \d+/g, ', delaySeconds: 0.1');
    writeFileSync(join(world.home, 'workflows', `${workflow}.yaml`), quick);
  }

  start(...args: string[]) {
    return this.world.invoke(['run', 'p', ...args], this.env);
  }

  cli(...args: string[]) {
    return this.world.invoke(args, this.env).ended;
  }

  branch(ticketId: string): string {
    return `ticket/p/${ticketId}`;
  }

  /** The pull request of a ticket, once it is there. */
  async pull(ticketId: string): Promise<FakePullRequest> {
    const look = () => this.pulls().find(({ headRefName }) => headRefName === this.branch(ticketId));
    return waitFor(`the pull request of ${ticketId}`, look);
  }

  /** Waits until a ticket waits in a phase, on its nth visit there. */
  async waits(ticketId: string, phase: string, visit = 1): Promise<Ticket> {
    const at = (ticket: Ticket) =>
      ticket.currentPhase === phase && (ticket.visits[phase] ?? 0) >= visit && ticket.hold !== null;
    const look = () => {
      const ticket = this.world.ticket('p', ticketId);
      return at(ticket) ? ticket : undefined;
    };
    return waitFor(`${ticketId} in ${phase} (${visit})`, look, {
      state: () => JSON.stringify(this.world.ticket('p', ticketId), null, 1),
    });
  }

  /** Waits until a ticket has come to an end, or to a person. */
  async ends(ticketId: string): Promise<Ticket> {
    const look = () => {
      const ticket = this.world.ticket('p', ticketId);
      const over = ['complete', 'failed', 'needs_attention'].includes(ticket.status) && !ticket.claim;
      return over ? ticket : undefined;
    };
    const state = () => JSON.stringify(this.world.ticket('p', ticketId), null, 1);
    return waitFor(`the end of ${ticketId}`, look, { state });
  }

  async change(ticketId: string, change: (pull: FakePullRequest) => void): Promise<void> {
    const { number } = await this.pull(ticketId);
    this.gh.pullRequest(number, change);
  }

  review(ticketId: string, state: 'APPROVED' | 'CHANGES_REQUESTED' | 'COMMENTED', body = ''): Promise<void> {
    const oid = this.tip(this.branch(ticketId));
    return this.change(ticketId, (pull) => {
      pull.reviews.push({
        author: { login: 'ann' },
        authorAssociation: 'MEMBER',
        state,
        body,
        submittedAt: new Date().toISOString(),
        commit: { oid },
      });
    });
  }

  comment(ticketId: string, body: string, login = 'ann', authorAssociation = 'MEMBER'): Promise<void> {
    return this.change(ticketId, (pull) => {
      pull.comments.push({ author: { login }, authorAssociation, body, createdAt: new Date().toISOString() });
    });
  }

  /** What CI says of the commit that the branch has now; null while it runs. */
  checks(ticketId: string, conclusion: FakeCheck['conclusion'], id = 'CR_1'): Promise<void> {
    const commit = this.tip(this.branch(ticketId));
    return this.change(ticketId, (pull) => {
      const status = conclusion === null ? 'IN_PROGRESS' : 'COMPLETED';
      pull.statusCheckRollup = [{ __typename: 'CheckRun', id, commit, name: 'build', status, conclusion }];
    });
  }

  /** A person opens a pull request for a ticket's branch. */
  opens(ticketId: string, number: number, isDraft: boolean): void {
    const now = new Date().toISOString();
    const nothing = { mergedAt: null, closedAt: null, mergeCommit: null, labels: [], reviews: [] };
    this.gh.repository(({ pullRequests }) => {
      pullRequests.push({
        ...nothing,
        ...{ number, isDraft, title: ticketId, body: '', state: 'OPEN', author: { login: 'ann' } },
        ...{ headRefName: this.branch(ticketId), baseRefName: 'main', headRefOid: '' },
        ...{ createdAt: now, updatedAt: now, reviewThreads: [], comments: [], statusCheckRollup: [] },
      });
    });
  }

  /** A person presses the button. */
  async merge(ticketId: string): Promise<void> {
    const { number } = await this.pull(ticketId);
    const args = ['pr', 'merge', String(number), '--repo', 'acme/web', '--merge'];
    execFileSync(FakeGh.command, args, { env: { ...process.env, ...this.gh.env } });
  }

  async gh_(...args: string[]): Promise<{ code: number; err: string }> {
    const { spawnSync } = await import('node:child_process');
    const { FakeGh } = await import('../../support/gh/fake-gh.ts');
    const done = spawnSync(FakeGh.command, args, {
      env: { ...process.env, ...this.gh.env },
      encoding: 'utf8',
    });
    return { code: done.status ?? -1, err: done.stderr };
  }

  /** Somebody else works on a branch and pushes it, by force where that is needed. */
  push(branch: string, work: (dir: string) => void): string {
    const dir = join(this.world.dir, `person-${branch.replaceAll('/', '-')}`);
    this.world.remove(dir);
    git(this.world.dir, 'clone', '--quiet', '--branch', branch, this.origin, dir);
    work(dir);
    git(dir, 'push', '--quiet', '--force', 'origin', `HEAD:${branch}`);
    return git(dir, 'rev-parse', 'HEAD');
  }

  prompt(ticketId: string, attempt: string): string {
    return this.world.promptOf('p', ticketId, attempt);
  }
}

/** `phase` or `phase:outcome` of every attempt that came to something; success needs no word. */
export function path(ticket: Ticket): string[] {
  return ticket.phaseHistory
    .filter(({ status, outcome, completedAt }) => {
      const again = status === 'interrupted' || (status === 'failure' && outcome === null);
      return completedAt !== null && !again;
    })
    .map(({ phase, outcome }) => (outcome === null || outcome === 'success' ? phase : `${phase}:${outcome}`));
}
