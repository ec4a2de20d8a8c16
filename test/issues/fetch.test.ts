import { describe, expect, it } from 'vitest';
import { fetchItems } from '../../src/issues/fetch-work-items.ts';
import { parseReference, referenceFromKey } from '../../src/issues/issue-references.ts';
import { orderByDependencies } from '../../src/model/plans/dependency-order.ts';
import { issuesPage, linearIssue, linearServer } from './linear-server.ts';
import { checkout, write } from './scratch.ts';

describe('fetchItems', () => {
  it('mixes all sources, keeps the order, and tells every problem', async () => {
    const { dir, fake, options } = checkout();
    const { url } = await linearServer(() => issuesPage([linearIssue('ENG-1')]));
    fake.issues({ number: 1, title: 'One', body: 'Depends on: #2' }, { number: 2, title: 'Two' });
    write(dir, 'three.md', '---\ndependsOn: [1, ENG-1]\n---\n# Three');
    write(dir, 'spec/requirements.md', '');
    const env = { ...options.env, LINEAR_API_KEY: 'k', SIGNALBOX_LINEAR_URL: url };
    const asked = ['three.md', 'ENG-1', parseReference('#1', { cwd: dir }), '2', 'spec', '0', 'acme/web#9'];
    const { items, problems } = await fetchItems(asked, { ...options, env });
    expect(items.map(({ id }) => id)).toEqual(['three', 'ENG-1', '1', '2']);
    expect(items[0]?.dependsOn).toEqual(['github:acme/web#1', 'linear:ENG-1']);
    expect(problems.map(({ reference, code }) => [reference, code])).toEqual([
      ['0', 'source/reference'],
      ['acme/web#9', 'gh/not-found'],
      ['spec', 'source/spec'],
    ]);
    const { order, cycles, missing } = orderByDependencies(items);
    expect(order.map(({ id }) => id)).toEqual(['ENG-1', '2', '1', 'three']);
    expect([cycles, missing]).toEqual([[], []]);
  });

  it('refuses a second item with the same id, and takes the same file once', async () => {
    const { dir, fake, options } = checkout();
    fake.issues({ number: 7, title: 'Seven' });
    write(dir, 'a/login.md', '# A');
    write(dir, 'b/login.md', '# B');
    write(dir, 'c.md', '---\nid: 7\n---\nText');
    const asked = ['a/login.md', './a/../a/login.md', 'b/login.md', '7', 'c.md'];
    const { items, problems } = await fetchItems(asked, options);
    expect(items.map(({ title }) => title)).toEqual(['A', 'Seven']);
    expect(problems.map(({ reference, code }) => [reference, code])).toEqual([
      ['b/login.md', 'source/same-id'],
      ['c.md', 'source/same-id'],
    ]);
    expect(problems[0]?.message).toContain('b/login.md has the id "login", and so has a/login.md');
  });

  it('looks up dependencies that were not asked for by their keys', async () => {
    const { fake, options } = checkout();
    fake.issues({ number: 1, title: 'One', blockedBy: [2] }, { number: 2, title: 'Two', state: 'CLOSED' });
    const { items } = await fetchItems(['1'], options);
    const { missing } = orderByDependencies(items);
    expect(missing).toEqual([{ key: 'github:acme/web#1', on: 'github:acme/web#2' }]);
    const wanted = missing.flatMap(({ on }) => referenceFromKey(on) ?? []);
    expect((await fetchItems(wanted, options)).items).toMatchObject([{ id: '2', state: 'closed' }]);
  });

  it('asks nobody for nothing', async () => {
    const { fake, options } = checkout();
    expect(await fetchItems([], options)).toEqual({ items: [], keys: new Map(), problems: [] });
    expect(fake.calls()).toEqual([]);
  });
});
