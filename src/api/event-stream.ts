/** Values pushed by one side and read by the other with `for await`. Nothing is lost; it ends when closed. */
export class EventStream<T> implements AsyncIterable<T> {
  readonly #values: T[] = [];
  #closed = false;
  #wake: () => void = () => undefined;

  push(value: T): void {
    if (this.#closed) return;
    this.#values.push(value);
    this.#wake();
  }

  close(): void {
    this.#closed = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (let read = 0; ; ) {
      while (read < this.#values.length) yield this.#values[read++] as T;
      if (this.#closed) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
