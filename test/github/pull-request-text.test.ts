import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeLine, escapeMarkdown } from '../../src/github/escape-markdown.ts';
import {
  cell,
  criteriaTable,
  issueReference,
  mergeBody,
  pullRequestSection,
  pullRequestTitle,
} from '../../src/github/pull-request-text.ts';

const here = { host: 'github.com', owner: 'acme', name: 'web' };
const facts = {
  reference: null,
  link: null,
  description: '',
  summary: '',
  criteria: [],
  verdict: null,
  page: null,
  stack: [],
};

/** Text with many of the characters that mean something in Markdown. */
const markdown = fc
  .array(
    fc.constantFrom(
      'a',
      'Fixes',
      ' ',
      '#1',
      '|',
      '\\',
      '`',
      '``',
      '<b>',
      '<!--',
      '-->',
      '@me',
      '\n',
      '```',
      '~~~',
      '"',
    ),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(''));

/** Lines that begin in all the ways in which blocks do. */
const blocks = fc
  .array(
    fc.tuple(
      fc.constantFrom('', ' ', '   ', '    ', '\t', '- ', '> ', '1. ', '> - ', '[^a]: '),
      fc.constantFrom(
        '```',
        '~~~',
        '````',
        '```js',
        '``` `x`',
        '<b>',
        '@me',
        'Fixes #1',
        '`a`',
        '` @me',
        '`<b>`',
        'a',
      ),
    ),
    { maxLength: 12 },
  )
  .map((lines) => lines.map((parts) => parts.join('')).join('\n'));

/** Cells of a table row as GitHub splits them: a backslash protects what follows it. */
function cellsOf(row: string): string[] {
  const cells = [''];
  for (let at = 0; at < row.length; at += 1) {
    const char = row[at] ?? '';
    if (char === '|') cells.push('');
    else cells[cells.length - 1] += char === '\\' ? char + (row[++at] ?? '') : char;
  }
  return cells.slice(1, -1);
}

describe('titles', () => {
  it.each([
    [{ number: 12, repository: 'acme/web', labels: [] }, 'feat(#12): Do it'],
    [{ number: 12, repository: 'ACME/Web', labels: ['bug'] }, 'fix(#12): Do it'],
    [{ number: 12, repository: null, labels: ['ui', 'Bug: crash'] }, 'fix(#12): Do it'],
    [{ number: 12, repository: 'acme/api', labels: ['debug'] }, 'feat(acme/api#12): Do it'],
    [
      { number: 12, repository: 'git.example.com/acme/web', labels: [] },
      'feat(git.example.com/acme/web#12): Do it',
    ],
    [{ number: null, repository: null, labels: [] }, 'feat: Do it'],
  ])('%j', (tracked, wanted) => {
    expect(pullRequestTitle('Do it', tracked, issueReference(tracked, here))).toBe(wanted);
  });

  it.each([
    [
      'Closes #1, fixes #2 and @acme/everyone',
      [],
      'feat(#7): Closes\u200b #1, fixes\u200b #2 and @\u200bacme/everyone',
    ],
    ['#3 is broken', ['bug'], 'fix(#7)\u200b: #3 is broken'],
    ['a < b && <T>', [], 'feat(#7): a < b && <T>'],
  ])('%j closes and calls nothing', (title, labels, wanted) => {
    expect(pullRequestTitle(title, { number: 7, repository: null, labels }, '#7')).toBe(wanted);
  });

  it('close nothing by their own first word', () => {
    const tracked = { number: null, repository: null, labels: ['bug'] };
    expect(pullRequestTitle('#3 is broken', tracked, null)).toBe('fix\u200b: #3 is broken');
  });

  it('are one line of at most 200 characters, whatever they are made of', { tags: 'full' }, () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (title) => {
        const said = pullRequestTitle(title, { number: 1, repository: null, labels: [] }, '#1');
        expect(said.length).toBeLessThanOrEqual(200);
        expect(said).toMatch(/^feat\(#1\):/);
        for (const bad of ['\n', '\r', '\u0000', '\u001b']) expect(said).not.toContain(bad);
      }),
    );
  });
});

describe('the table of acceptance criteria', () => {
  it.each([
    ['a|b', 'a\\|b'],
    ['a\\|b', 'a\\\\\\|b'],
    ['`a|b`', '`a\\|b`'],
    ['`a\\|b`', '\\`a\\\\\\|b\\`'],
    ['two\nlines\r\nthree', 'two lines three'],
    ['<img src=x> `<b>`', '&lt;img src=x> `<b>`'],
    ['closes #3, ask @me', 'closes\u200b #3, ask @\u200bme'],
    ['`npm i @scope/pkg`, me@example.com', '`npm i @scope/pkg`, me@example.com'],
  ])('%j becomes %j', (text, wanted) => {
    expect(cell(text)).toBe(wanted);
  });

  it('has three cells in every row, whatever they hold', () => {
    fc.assert(
      fc.property(markdown, markdown, fc.boolean(), (criterion, evidence, met) => {
        const lines = criteriaTable([{ criterion, met, evidence }]).split('\n');
        expect(lines).toHaveLength(3);
        const cells = cellsOf(lines[2] ?? '');
        expect(cells).toHaveLength(3);
        expect(cells[0]).toBe(met ? ' ✓ ' : ' ✗ ');
      }),
    );
  });

  it('is bounded', () => {
    const many = Array.from({ length: 250 }, () => ({ criterion: 'x'.repeat(900), met: true, evidence: '' }));
    const lines = criteriaTable(many).split('\n');
    expect(lines).toHaveLength(203);
    expect(lines.at(-1)).toBe('|  | 50 more |  |');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(600);
  });
});

describe('text of issues and agents', () => {
  it.each([
    ['Fixes #1', 'Fixes\u200b #1'],
    [
      'Resolved: acme/web#1 and CLOSE https://github.com/a/b/issues/1',
      'Resolved\u200b: acme/web#1 and CLOSE\u200b https://github.com/a/b/issues/1',
    ],
    ['fixed gh-4; fixes the bug', 'fixed\u200b gh-4; fixes the bug'],
    ['a < b, <!-- x', 'a < b, &lt;!-- x'],
    ['\\`<b>`', '\\`&lt;b>\\`'],
    ['``<b>`` <i>', '``<b>`` &lt;i>'],
    ['Fixes **#1**, _closes_ [#2](x)', 'Fixes\u200b **#1**, _closes\u200b_ [#2](x)'],
    ['This fixes', 'This fixes\u200b'],
    ['_@ann_ \\@bob me@x.org', '_@\u200bann_ \\@\u200bbob me@x.org'],
    ['&#64;ann &commat;bob Fixes &num;1 &lt;b>', '&amp;#64;ann &amp;commat;bob Fixes &amp;num;1 &lt;b>'],
    ['a ` b', 'a \\` b'],
    ['| ` | @ann ` |', '| \\` | @\u200bann \\` |'],
    ['`a | b` @c', '`a | b` @\u200bc'],
  ])('%j becomes %j', (text, wanted) => {
    expect(escapeLine(text)).toBe(wanted);
  });

  it('keep their code, and a code block that is left open is closed', () => {
    expect(escapeMarkdown('```ts\nfoo<T>(@me)\n```\n<T>', 1000)).toBe('```ts\nfoo<T>(@me)\n```\n&lt;T>');
    expect(escapeMarkdown('text\n~~~~\n~~~\n<b>', 1000)).toBe('text\n~~~~\n~~~\n<b>\n~~~~');
    expect(escapeMarkdown('``` `not a block`\n<b>', 1000)).toBe('\\`\\`\\` `not a block`\n&lt;b>');
  });

  it.each([
    ['- ```js\n  x<T>\n  ```\n<T>', '```js\n  x<T>\n```\n&lt;T>'],
    ['1. a\n\n   ~~~\n   @x\n   ~~~\n@y', '1. a\n\n~~~\n   @x\n~~~\n@\u200by'],
    ['> ```\n> <a>\n> ```\n<b>', '```\n> <a>\n```\n&lt;b>'],
    ['> - * ````\n```\n<a>\n      ````\n<b>', '````\n```\n<a>\n````\n&lt;b>'],
    ['[^1]: ```\n<a>\n```\n<b>', '```\n<a>\n```\n&lt;b>'],
    ['    ```\n<a>', '```\n<a>\n```'],
    ['Text ` here\n` Fixes #1 @team `', 'Text \\` here\n` Fixes #1 @team `'],
    ['Fixes\n#1', 'Fixes\u200b\n#1'],
  ])('in lists, quotes and over lines: %j becomes %j', (text, wanted) => {
    expect(escapeMarkdown(text, 1000)).toBe(wanted);
  });

  it('have code blocks at the left margin and no other, and come out the same a second time', () => {
    fc.assert(
      fc.property(blocks, (text) => {
        const made = escapeMarkdown(text, 10_000);
        let fence: string | undefined;
        for (const line of made.split('\n')) {
          // As GitHub reads a fence that is in no list or quote.
          const [, indent, marks = '', info = ''] = /^( {0,3})(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
          if (fence !== undefined) {
            if (marks.startsWith(fence) && info.trim() === '') fence = undefined;
            continue;
          }
          if (marks !== '' && !(marks[0] === '`' && info.includes('`'))) {
            expect(indent).toBe('');
            fence = marks;
            continue;
          }
          expect(line).not.toMatch(/^[\s>*+\-\d.)]*(?:```[^`]*$|~~~)/);
          // Whatever is no code of this very line.
          const prose = line.replace(/\\./g, '').replace(/(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)/g, '');
          expect(prose).not.toMatch(/`|<[a-z!/]|(?<!\w)@[a-z]|fixes #/i);
        }
        expect(fence).toBeUndefined();
        expect(escapeMarkdown(made, 20_000)).toBe(made);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the body', () => {
  it('says in a stack where it is', () => {
    const stack = [
      { name: '#100', self: false },
      { name: '#101', self: true },
      { name: 'ENG-7', self: false },
    ];
    expect(pullRequestSection({ ...facts, reference: '#101', stack })).toBe(
      '<!-- signalbox -->\nFixes #101\n\nPart of stack: #100 → #101 (this) → ENG-7\n<!-- /signalbox -->',
    );
  });

  it('links to the page, if it is asked to', () => {
    const page = 'https://signalbox.example.org/plans/p/tickets/a';
    expect(pullRequestSection({ ...facts, page })).toContain(`\nSignalbox: ${page}\n`);
  });

  it('links a ticket without a number, if that is a link', () => {
    expect(pullRequestSection({ ...facts, link: 'https://linear.app/x' })).toContain(
      '\nTicket: https://linear.app/x\n',
    );
    expect(pullRequestSection({ ...facts, link: 'javascript:alert(1)' })).not.toContain('alert');
  });

  it('quotes what a ticket without an issue says, and lets it do nothing', () => {
    const description = 'Count.\n\n```sh\nrun @all\n```\nfixes #1 for @ann <!-- /signalbox -->';
    expect(pullRequestSection({ ...facts, description })).toBe(
      '<!-- signalbox -->\n> Count.\n>\n> ```sh\n> run @all\n> ```\n> fixes\u200b #1 for @\u200bann &lt;!-- /signalbox -->\n<!-- /signalbox -->',
    );
    expect(pullRequestSection({ ...facts, reference: '#1', description })).not.toContain('Count');
  });

  it('has no note for the best verdict', () => {
    expect(pullRequestSection({ ...facts, verdict: 'READY_FOR_MERGE' })).not.toContain('verdict');
    expect(pullRequestSection({ ...facts, verdict: 'NEEDS_VERIFICATION' })).toContain('`NEEDS_VERIFICATION`');
  });

  it('keeps what people wrote around it, whatever is inside', () => {
    const around = fc.string({ maxLength: 30 }).filter((text) => !text.includes('\r'));
    fc.assert(
      fc.property(around, around, markdown, markdown, (before, after, old, next) => {
        const made = `${before}${pullRequestSection({ ...facts, summary: `${old} <!-- /signalbox -->` })}${after}`;
        const section = pullRequestSection({ ...facts, summary: next });
        expect(mergeBody(made, section)).toBe(`${before}${section}${after}`);
      }),
    );
  });

  it('stays below what GitHub takes', () => {
    const summary = 'word '.repeat(20_000);
    const criteria = Array.from({ length: 300 }, () => ({
      criterion: 'x|'.repeat(400),
      met: false,
      evidence: 'y'.repeat(900),
    }));
    const section = pullRequestSection({ ...facts, summary, criteria });
    expect(section.length).toBeLessThan(65_000);
    expect(section.endsWith('<!-- /signalbox -->')).toBe(true);
  });
});
