// Stands in for Vitest where mutants are tested: collects tests, so that single ones can be called.
import { JestAsymmetricMatchers, JestChaiExpect, JestExtend } from '@vitest/expect';
import * as chai from 'chai';

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);
export const expect = chai.expect;

const collected = [];
const names = [];

/** The tests of the files that were imported since the last call. */
globalThis.__collected = () => collected.splice(0);

export const describe = each((name, body) => {
  names.push(name);
  body();
  names.pop();
});

export const it = each((name, ...rest) => {
  const run = rest.find((value) => typeof value === 'function');
  collected.push({ name: [...names, name].join(' > '), run });
});

function each(declare) {
  return Object.assign(declare, {
    each: (rows) => (name, body) => {
      for (const row of rows) {
        const values = Array.isArray(row) ? row : [row];
        declare(`${name} ${JSON.stringify(values).slice(0, 80)}`, () => body(...values));
      }
    },
  });
}
