import { describe, expect } from 'vitest';
import { type Attempt, attemptKey } from '../../../src/model/ticket.ts';
import type { Running } from '../../support/cli.ts';
import { git, it, type World, waitFor, worktreesOf } from '../../support/index.ts';
import { Hub, path, ROOT } from './hub.ts';

const PATH = [
  ...['setup', 'implement', 'self_review:pass', 'simplify', 'verify', 'create_pr'],
  ...['await_review:changes', 'catch_up', 'handle_review', 'reverify', 'answer_review'],
  ...['await_review:changes', 'catch_up', 'handle_review', 'reverify', 'answer_review'],
  ...['await_review:red', 'catch_up', 'handle_review', 'reverify', 'answer_review'],
  ...['await_review:approved', 'await_merge:merged', 'cleanup'],
];

/** The attempt that is open now, if there is one. */
function openNow(world: World): Attempt | undefined {
  return world.ticket('p', 'ok').phaseHistory.findLast(({ completedAt }) => completedAt === null);
}

const once = (text: string, at: number, all: string[]) => all.indexOf(text) === at;
const visitOf = ({ phase, visit }: Attempt) => `${phase}#${visit}`;

const SCRIPTS = [
  'setup-worktree',
  'checks',
  'pull-request',
  'sync-branch',
  'answer-review',
  'cleanup-worktree',
];

/** The shipped scripts, each going on only after the engine was killed in its visit: none is over too soon for that. */
function holdScripts(world: World): void {
  const struck = `${world.dir}/struck-$SIGNALBOX_PHASE#$SIGNALBOX_VISIT`;
  for (const name of SCRIPTS)
    world.script(
      `${name}.sh`,
      `while [ ! -e "${struck}" ]; do sleep 0.05; done; exec '${ROOT}scripts/${name}.sh' "$@"`,
    );
}

/** Kills the engine once in the middle of every visit of a phase; `cut` takes the attempt's processes with it. */
class Killer {
  readonly killed = new Set<string>();
  readonly #world: World;
  readonly #start: () => Running;
  readonly #cut: boolean;
  #run: Running;

  constructor(world: World, start: () => Running, cut: boolean) {
    this.#world = world;
    this.#start = start;
    this.#cut = cut;
    this.#run = start();
  }

  /** Kills the engine in every new visit until the goal is reached. */
  async until(what: string, isReached: () => boolean): Promise<void> {
    const state = () => JSON.stringify(this.#world.ticket('p', 'ok'), null, 1);
    for (;;) {
      const look = () => isReached() || this.#isNew(openNow(this.#world));
      await waitFor(what, look, { state });
      if (isReached()) return;
      await this.#strike(openNow(this.#world));
    }
  }

  #isNew(open: Attempt | undefined): open is Attempt {
    return open !== undefined && !this.killed.has(visitOf(open));
  }

  async #strike(open: Attempt | undefined): Promise<void> {
    // It may have ended since.
    if (!this.#isNew(open)) return;
    this.killed.add(visitOf(open));
    await this.#run.kill('SIGKILL');
    this.#world.append(`struck-${visitOf(open)}`, '');
    if (this.#cut) this.#cutOff(attemptKey(open));
    this.#run = this.#start();
  }

  /** What a power cut does to the processes of an attempt. */
  #cutOff(key: string): void {
    const file = `home/state/jobs/p/ok/${key.replaceAll('#', '.')}/pid`;
    const pid = this.#world.exists(file) ? Number(this.#world.read(file).split('\n')[0]) : 0;
    // Until the supervisor has recorded itself, the file has only the room for that.
    if (pid === 0) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch (error) {
      // It had ended by itself.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  get ended() {
    return this.#run.ended;
  }
}

describe('kill -9 in the middle of every phase of standard', { tags: 'full' }, () => {
  for (const cut of [false, true]) {
    it(`${cut ? 'with the processes it started' : 'alone'}: one pull request, each comment once, nothing lost`, async ({
      world,
    }) => {
      const hub = new Hub(world, 'standard');
      holdScripts(world);
      world.plan('p', { tickets: { ok: {} } });
      const killer = new Killer(world, () => world.start(['run', 'p'], hub.env), cut);
      const waits = (phase: string, visit: number) =>
        killer.until(`${phase} ${visit}`, () => {
          const { currentPhase, visits, hold, claim } = world.ticket('p', 'ok');
          return currentPhase === phase && visits[phase] === visit && hold !== null && claim === null;
        });
      await waits('await_review', 1);
      await hub.review('ok', 'CHANGES_REQUESTED', 'Name it better.');
      await waits('await_review', 2);
      await hub.review('ok', 'CHANGES_REQUESTED', 'And shorter.');
      await waits('await_review', 3);
      await hub.checks('ok', 'FAILURE');
      await waits('await_review', 4);
      await hub.checks('ok', 'SUCCESS', 'CR_2');
      await hub.review('ok', 'APPROVED');
      await waits('await_merge', 1);
      await hub.merge('ok');
      await killer.until('the end', () => world.ticket('p', 'ok').status === 'complete');
      const { code, out, err } = await killer.ended;
      expect(code, out + err).toBe(0);

      const ticket = world.ticket('p', 'ok');
      expect(path(ticket)).toEqual(PATH);
      expect([...killer.killed].sort()).toEqual(ticket.phaseHistory.map(visitOf).filter(once).sort());
      expect(hub.pulls()).toHaveLength(1);
      const ours = hub.pulls()[0]?.comments.filter(({ author }) => author.login === 'octo') ?? [];
      expect(ours).toHaveLength(3);
      expect(new Set(ours.map(({ body }) => body.split('\n')[0])).size).toBe(3);
      expect(git(hub.origin, 'show', 'main:rehearsal/p/ok.md')).toContain('handle_review, visit 3');
      expect(git(hub.origin, 'rev-list', '--count', `main..${hub.branch('ok')}`)).toBe('0');
      expect(worktreesOf(world.repo)).toEqual([]);
    });
  }
});
