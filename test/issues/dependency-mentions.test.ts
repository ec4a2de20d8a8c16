import { describe, expect, it } from 'vitest';
import { dependencyMentions, labelMentions } from '../../src/issues/dependency-mentions.ts';
import { within } from '../support/within.ts';

/** Mentions in short: `3`, `acme/web#3`, `ENG-3`. */
function read(body: string, linear = false): string[] {
  return dependencyMentions(body, { linear }).map((mention) => {
    if (mention.kind === 'linear') return mention.key;
    const { repository, number } = mention;
    if (!repository) return String(number);
    const host = repository.host === 'github.com' ? '' : `${repository.host}/`;
    return `${host}${repository.owner}/${repository.name}#${number}`;
  });
}

describe('dependencyMentions', () => {
  it.each([
    ['Depends on: #12', ['12']],
    ['Depends on #12', ['12']],
    ['Depends-on: #12', ['12']],
    ['DEPENDS ON: #12.', ['12']],
    ['Blocked by: #3, #4', ['3', '4']],
    ['Blocked-by #3 and #4 & #5; #6', ['3', '4', '5', '6']],
    ['Depends on: #3 (the parser), #4', ['3', '4']],
    ['Depends on: #3 because of #4', ['3']],
    ['- Depends on: #3', ['3']],
    ['- [ ] Depends on #3', ['3']],
    ['1. Depends on #3', ['3']],
    ['**Depends on:** #3', ['3']],
    ['**Depends on**: **#3**', ['3']],
    ['_Blocked by_ #3', ['3']],
    ['### Depends on #3', ['3']],
    ['Depends on: acme/web#3', ['acme/web#3']],
    ['Depends on: https://github.com/acme/web/issues/3', ['acme/web#3']],
    ['Depends on: <https://github.com/acme/web/issues/3>', ['acme/web#3']],
    ['Depends on: [#3](https://github.com/acme/web/issues/3), #4', ['acme/web#3', '4']],
    ['Depends on: [the API](https://github.com/acme/web/issues/3)', ['acme/web#3']],
    ['Depends on:\n- #3\n- [x] #4\n\nSee #5', ['3', '4']],
    ['## Blocked by\n\n* #3 first\n* the rest\n* #4\n\n## Notes\n* #5', ['3', '4']],
    ['## Depends on\n#3, #4\nMore words about #5', ['3', '4']],
    ['Text\nDepends on: #3\r\nBlocked by: #4', ['3', '4']],
    ['<!-- a --> Depends on: #3', ['3']],
  ])('reads %j', (body, wanted) => expect(read(body.replace(/\r\n/g, '\n'))).toEqual(wanted));

  it.each([
    ['```\nDepends on: #3\n```'],
    ['~~~~ text\nDepends on: #3\n~~~\nDepends on: #4\n~~~~'],
    ['```\nDepends on: #3'],
    ['- ```\n  Depends on: #3\n  ```'],
    ['> ```\n> Depends on: #3\n> ```'],
    ['    Depends on: #3'],
    ['`Depends on: #3`'],
    ['Depends on: `#3`'],
    ['``Depends on: ` #3``'],
    ['`code\nDepends on: #3\nmore`'],
    ['<!-- Depends on: #3 -->'],
    ['<!--\nDepends on: #3\n-->'],
    ['<!--\n```\n-->\n<!-- Depends on: #3 -->'],
    ['<!-- never closed\nDepends on: #3'],
    ['<pre>\nDepends on: #3\n</pre>'],
    ['> Depends on: #3'],
    ['~~Depends on: #3~~'],
    ['This depends on #3'],
    ['It is blocked by #3'],
    ['Depends on: nothing, see #3'],
    ['Depends on: none'],
    ['Depends on: #0'],
    ['Depends on: #3abc'],
    ['Depends on: #1.5'],
    ['Depends on: 3'],
    ['Depends online #3'],
    ['Depends on: {{ issue }} $(echo #3)'],
  ])('does not read %j', (body) => expect(read(body)).toEqual([]));

  it('takes other hosts only where the text may name them', () => {
    const body = 'Depends on: https://ghe.example.com/a/b/issues/3, https://github.com/a/b/issues/4';
    const hosts = (options: object) =>
      dependencyMentions(body, options).map((each) => each.kind === 'issue' && each.repository?.host);
    expect(hosts({})).toEqual(['github.com']);
    expect(hosts({ host: 'GHE.example.com' })).toEqual(['ghe.example.com', 'github.com']);
    expect(hosts({ anyHost: true })).toEqual(['ghe.example.com', 'github.com']);
  });

  it('goes on after code and comments', () => {
    const body =
      '```\n<!--\n```\nDepends on: #1\n`<!--` Blocked\nDepends on: #2\n``` `not a fence` ```\nDepends on: #3';
    expect(read(body)).toEqual(['1', '2', '3']);
  });

  it('takes Linear keys only where they belong, and only as references', () => {
    expect(read('Depends on: ENG-3, #4', true)).toEqual(['ENG-3', '4']);
    expect(read('Depends on: ENG-3')).toEqual([]);
    expect(read('Depends on: UTF-8 support', true)).toEqual([]);
  });

  it.each([
    ['backticks', '`'.repeat(100_000)],
    ['runs of backticks', '` `` ``` '.repeat(20_000)],
    ['comments', '<!-- x --> '.repeat(20_000)],
    ['open comments', '<!-- '.repeat(40_000)],
    ['references', `Depends on: ${'#1, '.repeat(50_000)}`],
    ['parentheses', `Depends on: ${'('.repeat(200_000)}`],
    ['leads', 'Depends on:\n'.repeat(15_000)],
    ['lists', `Depends on:\n${'- #1\n'.repeat(40_000)}`],
    ['brackets', `Depends on: ${'['.repeat(200_000)}`],
    ['digits', `Depends on: #${'1'.repeat(200_000)}`],
  ])('reads 200,000 characters of %s in no time', (_, body) => {
    const start = performance.now();
    expect(read(body).length).toBeLessThanOrEqual(100);
    expect(performance.now() - start).toBeLessThan(within(2_000));
  });
});

describe('labelMentions', () => {
  it('reads depends-on/N and depends-on-N and nothing else', () => {
    const labels = [
      'depends-on/3',
      'Depends-On-4',
      'depends-on/#5',
      'depends-on/x',
      'depends-on/0',
      'on-6',
      '7',
    ];
    expect(labelMentions(labels)).toEqual([3, 4, 5]);
  });
});
