import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { style } from '../../src/report/style-and-phrases.ts';
import {
  cells,
  fittingTable,
  foldSummary,
  type SummaryRow,
  table,
  wrapLines,
} from '../../src/report/tables-and-text-wrapping.ts';

const plain = style(false);
const HEADER = ['', 'issue', 'time', 'branch', 'pull request', 'usage', 'why'];
const PULL = 'https://github.com/acme/web/pull/108';
const ROWS = [
  ['✓', '#100', '7s', 'feature/100-cache', PULL, '', ''],
  ['✗', '#101', '12s', 'feature/101-the-age-of-answers', '', '', 'Phase exec failed: nothing was committed'],
];

const fitted = (columns?: number, look = plain) =>
  fittingTable(HEADER, ROWS, { style: look, columns, lead: 3 });

describe('a table that has to fit', () => {
  it('is as it is where it fits, and where nothing has to', () => {
    const whole = table(HEADER, ROWS, plain);
    const widest = Math.max(...whole.map(cells));
    expect(fitted()).toEqual(whole);
    expect(fitted(widest)).toEqual(whole);
    expect(fitted(widest - 1)).not.toEqual(whole);
    expect(fittingTable(HEADER, ROWS, { style: style(true), columns: widest, lead: 3 })).toEqual(
      table(HEADER, ROWS, style(true)),
    );
  });

  it('has the reason of a row below it where the rest fits', () => {
    const header = HEADER.filter((name) => name !== 'pull request');
    const rows = ROWS.map((row) => row.filter((_, at) => at !== 4));
    expect(fittingTable(header, rows, { style: plain, columns: 60, lead: 3 })).toEqual([
      '   issue  time  branch',
      '✓  #100   7s    feature/100-cache',
      '✗  #101   12s   feature/101-the-age-of-answers',
      '   Phase exec failed: nothing was committed',
    ]);
  });

  it('has a block for each row where it does not', () => {
    expect(fitted(60)).toEqual([
      '✓  #100   7s',
      '   branch        feature/100-cache',
      `   pull request  ${PULL}`,
      '✗  #101   12s',
      '   branch        feature/101-the-age-of-answers',
      '   why           Phase exec failed: nothing was committed',
    ]);
  });

  it('breaks text between words, and leaves names and addresses whole', () => {
    expect(fitted(40)).toEqual([
      '✓  #100   7s',
      '   branch        feature/100-cache',
      '   pull request',
      `   ${PULL}`,
      '✗  #101   12s',
      '   branch',
      '   feature/101-the-age-of-answers',
      '   why           Phase exec failed:',
      '                 nothing was committed',
    ]);
  });

  it('keeps a command in a cell whole', () => {
    const why = 'Its branch is gone. Continue with: signalbox retry run-1 a';
    expect(
      fittingTable(['', 'issue', 'why'], [['✗', '#1', why]], { style: plain, columns: 30, lead: 2 }),
    ).toEqual([
      '✗  #1',
      '   why  Its branch is gone.',
      '        Continue with:',
      '        signalbox retry run-1 a',
    ]);
  });

  it('is never wider than the terminal while its words are not, and loses none', () => {
    const words = fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { maxLength: 12 });
    const row = fc.tuple(words, words, words);
    fc.assert(
      fc.property(fc.array(row, { minLength: 1 }), fc.integer({ min: 40, max: 120 }), (rows, columns) => {
        const text = rows.map((cellsOf, at) => ['✓', `#${at}`, ...cellsOf.map((each) => each.join(' '))]);
        const said = fittingTable(['', 'issue', 'branch', 'pull request', 'why'], text, {
          style: plain,
          columns,
          lead: 2,
        });
        for (const line of said) expect(cells(line)).toBeLessThanOrEqual(columns);
        const shown = said.join(' ').split(/\s+/);
        for (const word of rows.flat(2)) expect(shown).toContain(word);
      }),
    );
  });
});

describe('a table', () => {
  it('stands in columns, also with characters that are two cells wide, and leaves empty ones out', () => {
    const rows = [
      ['1', 'お茶', '', 'done'],
      ['10', 'Tea', '', 'open'],
    ];
    expect(table(['id', 'title', 'note', 'status'], rows, plain)).toEqual([
      'id  title  status',
      '1   お茶   done',
      '10  Tea    open',
    ]);
  });
});

describe('lines that are too wide for the terminal', () => {
  it.each([
    ['fits', 40, ['fits']],
    ['! a needs attention: May it be merged now?', 30, ['! a needs attention: May it', '  be merged now?']],
    [
      '    waits for the others, and for you',
      20,
      ['    waits for the', '      others, and', '      for you'],
    ],
    ['Details: signalbox status --plan p', 20, ['Details:', '  signalbox status --plan p']],
    [
      '❌ The plan is paused. Continue with: signalbox resume a-very-long-name',
      40,
      ['❌ The plan is paused. Continue with:', '  signalbox resume a-very-long-name'],
    ],
    [
      'see https://example.org/a/very/long/path/that/does/not/fit',
      30,
      ['see', '  https://example.org/a/very/long/path/that/does/not/fit'],
    ],
    ['  signalbox diff run-1 rework-the-page', 20, ['  signalbox diff run-1 rework-the-page']],
    ['  git branch -D a-long-name another-name', 20, ['  git branch -D a-long-name another-name']],
    [
      'Retry: signalbox retry run-1 a && signalbox resume run-1',
      20,
      ['Retry:', '  signalbox retry run-1 a &&', '  signalbox resume run-1'],
    ],
    [
      'Retry: signalbox retry run-1 a && signalbox resume run-1',
      52,
      ['Retry:', '  signalbox retry run-1 a && signalbox resume run-1'],
    ],
    ['      → signalbox respond run-1 a approve', 20, ['      → signalbox respond run-1 a approve']],
    [
      'Work: 2 on their branches → signalbox merge p',
      30,
      ['Work: 2 on their branches', '  → signalbox merge p'],
    ],
    ['  → https://example.org/a/very/long/path', 20, ['  → https://example.org/a/very/long/path']],
    ['Signalbox works on a git repository', 20, ['Signalbox works on', '  a git repository']],
    ['a-name    complete    Title', 20, ['a-name    complete', '  Title']],
  ])('%j in %i columns', (line, columns, lines) => {
    expect(wrapLines(line, columns)).toEqual(lines);
    expect(wrapLines([line], undefined)).toEqual([line]);
  });

  it('keep a coloured command whole', () => {
    const { dim } = style(true);
    const step = `    ${dim('→ signalbox respond run-1 rework approve')}`;
    expect(wrapLines(step, 20)).toEqual([step]);
    expect(wrapLines(`Next: ${dim('signalbox merge run-1 --all')}`, 20)).toEqual([
      'Next:',
      `  ${dim('signalbox merge run-1 --all')}`,
    ]);
  });

  it('break between words, and lose none', () => {
    const word = fc.stringMatching(/^[a-z]{1,12}$/);
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 20, max: 80 }),
        (words, columns) => {
          const lines = wrapLines(words.join(' '), columns);
          for (const line of lines) expect(cells(line)).toBeLessThanOrEqual(columns);
          expect(lines.flatMap((line) => line.trim().split(/ +/))).toEqual(words);
        },
      ),
    );
  });
});

describe('a summary on a terminal', () => {
  const row = (group: SummaryRow['group'], mark: string, name: string, why = ''): SummaryRow => ({
    group,
    cells: [mark, name, group, `branch-${name}`, why],
  });
  const many = (count: number, of: (name: string) => SummaryRow) =>
    Array.from({ length: count }, (_, at) => of(`t${at}`));

  it('has what needs a person last', () => {
    const rows = [row('need you', '✗', 'a', 'red'), row('done', '✓', 'b'), row('waiting', '◌', 'c', 'limit')];
    expect(foldSummary(rows, 'ticket', 80).map(([, name]) => name)).toEqual(['b', 'c', 'a']);
  });

  it('folds more than ten that are done, and two that failed with the same reason', () => {
    const done = (count: number) =>
      foldSummary(
        many(count, (name) => row('done', '✓', name)),
        'ticket',
        80,
      );
    expect(done(10)).toHaveLength(10);
    expect(done(11)).toEqual([['✓', '11 tickets', 'done', '', 't0, t1, t2, t3, t4, t5, t6, t7, …']]);
    const failed = [
      ...many(3, (name) => row('need you', '✗', name, 'red')),
      row('need you', '✗', 'x', 'blue'),
    ];
    expect(foldSummary(failed, 'issue', 80)).toEqual([
      ['✗', '3 issues', 'need you', '', 'red (t0, t1, t2)'],
      ['✗', 'x', 'need you', 'branch-x', 'blue'],
    ]);
    expect(foldSummary(failed.slice(1), 'issue', 80)).toHaveLength(2);
    const waits = ['a', 'b'].map((name) => row('waiting', '◌', name, 'usage limit'));
    expect(foldSummary(waits, 'issue', 80)).toHaveLength(2);
  });
});
