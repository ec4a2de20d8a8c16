import { lineSplitter } from '../agents/reading/split-lines.ts';
import type {
  AgentAdapter,
  AgentEvent,
  AgentExit,
  AgentReader,
  AgentResult,
} from '../model/agent-and-adapter-types.ts';
import { noUsage, totalUsage } from '../model/limits/usage-cost-and-estimate.ts';
import type { Hold, Usage } from '../model/ticket.ts';
import type { PhaseOf } from '../model/workflow.ts';
import type { PhaseContext } from './phase-context.ts';
import type { JobRun } from './run-job.ts';

interface Row {
  fingerprint: string;
  times: number;
  /** The worktree since the row began to repeat; undefined when it could not be read. */
  tree?: Promise<string | undefined>;
}

/**
 * Notices an agent that makes the same call again and again while nothing else changes. Text between the calls does not end a
 * row, but another call does, and so does a change in the worktree.
 */
class SameCalls {
  readonly #most: number;
  readonly #readTree: () => Promise<string>;
  #row: Row = { fingerprint: '', times: 0 };
  #reading: Promise<string | undefined> | undefined;
  #check: Promise<void> | undefined;
  /** What is repeated without any change. */
  loop: string | null = null;

  /** `most` calls are too many, 0 turns the check off. `readTree` answers with the same text as long as the tree is the same. */
  constructor(most: number, readTree: () => Promise<string>) {
    this.#most = most;
    this.#readTree = readTree;
  }

  add(name: string, fingerprint: string | undefined): void {
    if (fingerprint === undefined || this.#most === 0) return;
    if (fingerprint !== this.#row.fingerprint) this.#row = { fingerprint, times: 0 };
    const row = this.#row;
    row.times += 1;
    // Most calls are never repeated, so only the second one is worth a look at the tree.
    if (row.times > 1) row.tree ??= this.#read();
    if (row.times === this.#most) this.#check = this.#judge(name, row);
  }

  /** Once it resolves, `loop` is about all calls so far, and nothing is being read. */
  async settled(): Promise<void> {
    await this.#check;
    await this.#reading;
  }

  async #judge(name: string, row: Row): Promise<void> {
    const before = await row.tree;
    const tree = this.#read();
    const now = await tree;
    // Another call was made meanwhile.
    if (row !== this.#row) return;
    if (before === undefined || before === now)
      this.loop = `called ${name} ${this.#most} times in a row with the same input and result (limits.sameToolCalls)`;
    else this.#row = { fingerprint: row.fingerprint, times: 0, tree };
  }

  /** One reading at a time, for all callers that ask meanwhile. */
  #read(): Promise<string | undefined> {
    this.#reading ??= this.#readTree()
      .catch(() => undefined)
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }
}

/** An agent that has used up its budget may be about to end: it gets this long, unless it starts another tool. */
const LAST_WORDS_MS = 250;

export interface StreamOptions {
  adapter: AgentAdapter;
  /** The file with its output. */
  file: string;
  usageBefore: Usage | null;
  wantsData: boolean;
  /** What earlier turns of the same attempt have used. */
  spent: Usage | null;
  /** Why the agent must end. Called often, because time passes between two reports. */
  overBudget(usage: Usage | null): Hold | null;
}

/** What an agent's CLI prints: shown as it comes, and judged for whether the agent is busy, waits or has to end. */
export class AgentStream {
  readonly #context: PhaseContext<PhaseOf<'agent'>>;
  readonly #options: StreamOptions;
  readonly #reader: AgentReader;
  #spent: Usage | null;
  #toolsOpen = 0;
  #limited = false;
  #endBy = Number.POSITIVE_INFINITY;
  #session: string | null = null;
  readonly #same: SameCalls;
  #lines = lineSplitter((line) => this.#showAll(this.#reader.line(line)));
  /** The model has said or done something. */
  hasAnswered = false;
  /** The CLI asked for a permission, and no person is there to give it. */
  refused = false;
  #broke: Hold | null = null;

  constructor(context: PhaseContext<PhaseOf<'agent'>>, options: StreamOptions) {
    this.#context = context;
    this.#options = options;
    this.#spent = options.spent;
    const { adapter, usageBefore, wantsData } = options;
    const { settings, workspaces, place } = context;
    this.#same = new SameCalls(settings.limits.sameToolCalls, () => workspaces.fingerprint(place.worktree));
    // Read for each message, because "in an hour" counts from the time of the message.
    this.#reader = adapter.reader({
      get now() {
        return context.now();
      },
      usageBefore,
      wantsData,
    });
  }

  /** Follows a job; `flush` after it has ended. */
  follow(): Pick<JobRun, 'onOutput' | 'onErrors' | 'isBusy' | 'isWaiting' | 'isOver'> & { flush(): void } {
    const reader = this.#reader;
    const errors = lineSplitter((line) => this.#showAll(reader.errorLine?.(line) ?? []));
    return {
      onOutput: (chunk) => this.#lines.push(chunk),
      ...(reader.errorLine ? { onErrors: (chunk: Buffer) => errors.push(chunk) } : {}),
      isBusy: () => this.#toolsOpen > 0,
      isWaiting: () => this.#limited,
      isOver: () => this.refused || this.loop !== null || this.#isBroke(),
      flush: () => {
        this.#lines.flush();
        errors.flush();
      },
    };
  }

  /** It repeats one tool call without any change. */
  get loop(): string | null {
    return this.#same.loop;
  }

  /** Resolves when nothing reads the worktree any more. */
  settled(): Promise<void> {
    return this.#same.settled();
  }

  /** How the agent's run ended. */
  end(exit: AgentExit): AgentResult {
    return this.#reader.end({ ...exit, skippedIn: this.#lines.dropped > 0 ? this.#options.file : undefined });
  }

  /** Session and usage. A limit or overload before the model's first answer cost nothing; later, the cost is not known. */
  factsOf({ sessionId, usage, error }: AgentResult): Pick<AgentResult, 'sessionId' | 'usage'> {
    const isRefused = error?.class === 'limit' || error?.class === 'overloaded';
    const isFree = usage === null && isRefused && !this.hasAnswered;
    return { sessionId: this.#session ?? sessionId, usage: isFree ? noUsage(0) : usage };
  }

  /** The budget that is used up. */
  holdFor({ usage }: AgentResult): Hold | null {
    return this.#broke ?? this.#options.overBudget(totalUsage([this.#options.spent, usage]));
  }

  #showAll(events: readonly AgentEvent[]): void {
    for (const event of events) this.#show(event);
  }

  #show(event: AgentEvent): void {
    const { onSession, onText, onTool, onWarning } = this.#context;
    // Any other event shows that it works again.
    this.#limited = event.type === 'limit' || (this.#limited && event.type === 'warning');
    this.refused = event.type === 'refused';
    this.hasAnswered ||= event.type === 'text' || event.type === 'tool';
    switch (event.type) {
      case 'session':
        this.#session = event.id;
        onSession(event.id);
        break;
      case 'usage':
        this.#spend(event.usage);
        break;
      case 'text':
        onText(event.text);
        break;
      case 'warning':
        onWarning(event.message);
        break;
      case 'tool':
        this.#same.add(event.name, event.fingerprint);
        this.#toolsOpen = Math.max(0, this.#toolsOpen + (event.done ? -1 : 1));
        if (this.#broke) this.#endBy = Number.NEGATIVE_INFINITY;
        onTool(event.name, event.summary, event.done);
    }
  }

  #spend(usage: Usage): void {
    const soFar = totalUsage([this.#options.spent, usage]) ?? usage;
    this.#spent = soFar;
    this.#context.onUsage(soFar);
    this.#isBroke();
  }

  #isBroke(): boolean {
    if (this.#broke === null) {
      this.#broke = this.#options.overBudget(this.#spent);
      if (this.#broke)
        this.#endBy = this.#toolsOpen > 0 ? Number.NEGATIVE_INFINITY : performance.now() + LAST_WORDS_MS;
    }
    return performance.now() > this.#endBy;
  }
}
