// A vitest reporter that notes which tests have begun and ended, for whoever has to cut the suite off.
import { appendFileSync } from 'node:fs';

export default class Progress {
  #note(word, test) {
    const file = process.env.SIGNALBOX_CONTRACT_PROGRESS;
    if (file) appendFileSync(file, `${JSON.stringify({ word, name: test.fullName, at: Date.now() })}\n`);
  }

  onTestCaseReady(test) {
    this.#note('begun', test);
  }

  onTestCaseResult(test) {
    this.#note(test.result().state, test);
  }
}
