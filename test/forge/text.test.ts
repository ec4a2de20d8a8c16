import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeBody, pullRequestSection } from '../../src/forge/body.ts';
import { inert, inertLine } from '../../src/forge/inert.ts';
import { cell, criteriaTable } from '../../src/forge/table.ts';
import { issueReference, pullRequestTitle } from '../../src/forge/title.ts';

const here = { host: 'github.com', owner: 'acme', name: 'web' };
const facts = { reference: null, link: null, summary: '', criteria: [], verdict: null, stack: [] };

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

  it('are one line of at most 200 characters, whatever they are made of', () => {
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
    ['\\`<b>`', '\\`&lt;b>`'],
    ['``<b>`` <i>', '``<b>`` &lt;i>'],
  ])('%j becomes %j', (text, wanted) => {
    expect(inertLine(text)).toBe(wanted);
  });

  it('keep their code, and a code block that is left open is closed', () => {
    expect(inert('```ts\nfoo<T>(@me)\n```\n<T>', 1000)).toBe('```ts\nfoo<T>(@me)\n```\n&lt;T>');
    expect(inert('text\n~~~~\n~~~\n<b>', 1000)).toBe('text\n~~~~\n~~~\n<b>\n~~~~');
    expect(inert('``` `not a block`\n<b>', 1000)).toBe('``` `not a block`\n&lt;b>');
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

  it('links a ticket without a number, if that is a link', () => {
    expect(pullRequestSection({ ...facts, link: 'https://linear.app/x' })).toContain(
      '\nTicket: https://linear.app/x\n',
    );
    expect(pullRequestSection({ ...facts, link: 'javascript:alert(1)' })).not.toContain('alert');
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
