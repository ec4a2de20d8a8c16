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
export class SameCalls {
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
