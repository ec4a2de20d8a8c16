import { describe, expect, it } from 'vitest';
import { acceptanceCriteria } from '../../src/issues/acceptance-criteria.ts';
import { within } from '../support/within.ts';

const LIST = '- [ ] AC-1: It works\n- [x] AC-2: It is fast';
const BOTH = ['AC-1: It works', 'AC-2: It is fast'];

describe('acceptanceCriteria', () => {
  it.each([
    ['# Acceptance Criteria'],
    ['## Acceptance criteria:'],
    ['###### ACCEPTANCE CRITERIA ######'],
    ['## ✅ Acceptance Criteria (must have)'],
    ['## 3. Acceptance Criteria'],
    ['## **Acceptance Criteria**'],
    ['## AC'],
    ['Acceptance Criteria\n==='],
    ['Acceptance Criteria\n---'],
    ['**Acceptance Criteria**'],
    ['**Acceptance Criteria:**'],
    ['Acceptance criteria:'],
  ])('finds the section below %j', (heading) => {
    expect(acceptanceCriteria(`# Title\n\nText\n\n${heading}\n\n${LIST}\n\n# Next\n- no`)).toEqual(BOTH);
    expect(acceptanceCriteria(`${heading}\n${LIST}`)).toEqual(BOTH);
  });

  it.each([
    ['bullets', '- a\n* b\n+ c', ['a', 'b', 'c']],
    ['numbers', '1. a\n2) b', ['a', 'b']],
    ['checkboxes', '- [ ] a\n- [X] b\n1. [x] c', ['a', 'b', 'c']],
    ['bold marks', '- **AC-1:** a\n- **AC-2**: b\n- __AC-3__ c', ['AC-1: a', 'AC-2: b', 'AC-3 c']],
    ['continuation lines', '- a\n  more\nlazy\n- b\n\n  paragraph', ['a more lazy', 'b paragraph']],
    ['lists in an item', '- a:\n  - x\n  - y\n- b\n  * z', ['a: x; y', 'b; z']],
    ['checkboxes in an item', '- [ ] a\n  - [ ] b\n    - detail', ['a', 'b; detail']],
    ['lines with marks', 'AC-1: a\nAC-2: b', ['AC-1: a', 'AC-2: b']],
    ['headings with marks', '### AC-1: a\n### AC-2: b', ['AC-1: a', 'AC-2: b']],
    ['groups', 'All of:\n### Must\n- a\n### Should\n- b\n\n**Could**\n- c', ['a', 'b', 'c']],
    ['inline code', '- `f()` gives `1`', ['`f()` gives `1`']],
    ['code blocks', '- a\n```\n- [ ] no\n## No\n```\n- b', ['a', 'b']],
    ['comments', '<!-- - [ ] say what -->\n- a\n<!--\n- no\n-->', ['a']],
    ['empty items', '- [ ]\n- [ ] a\n-\n- ', ['a']],
    ['rules', '- a\n\n---\n* * *\n- b', ['a', 'b']],
    ['repeats', '- a\n- a', ['a']],
    ['paragraphs', 'It works\nwell.\n\nIt is fast.', ['It works well.', 'It is fast.']],
    ['nothing', '', []],
  ])('reads %s', (_, section, wanted) => {
    expect(acceptanceCriteria(`Intro\n## Acceptance Criteria\n${section}\n## Notes\n- no`)).toEqual(wanted);
  });

  it.each([
    ['no section', '- [ ] a task'],
    ['another section', '## Tasks\n- [ ] a'],
    ['a heading that only mentions it', '## Why acceptance criteria matter\n- a'],
    ['a heading in code', '```\n## Acceptance Criteria\n- a\n```'],
    ['a heading in a comment', '<!--\n## Acceptance Criteria\n-->\n- a'],
  ])('finds nothing in %s', (_, body) => expect(acceptanceCriteria(body)).toEqual([]));

  it.each(['Acceptance criteria:', '**Acceptance Criteria**'])(
    'ends below %j where other text begins',
    (line) => {
      expect(acceptanceCriteria(`${line}\n\n- a\n\n- b\n  more\n\nNotes:\n- no`)).toEqual(['a', 'b more']);
    },
  );

  it('joins several sections, and bounds number and length', () => {
    const twice = '## Acceptance Criteria\n- a\n## Other\n- no\n### Acceptance Criteria\n- b';
    expect(acceptanceCriteria(twice)).toEqual(['a', 'b']);
    const items = Array.from({ length: 1_000 }, (_, index) => `- ${index}`).join('\n');
    expect(acceptanceCriteria(`## AC\n${items}`)).toHaveLength(200);
    const [long] = acceptanceCriteria(`## AC\n- ${'x'.repeat(100_000)}\n${'more\n'.repeat(1_000)}`);
    expect(long).toHaveLength(2_000);
  });

  it.each([
    ['headings', '# Acceptance Criteria\n'.repeat(9_000)],
    ['a heading', `# Acceptance Criteria ${'('.repeat(100_000)}${')'.repeat(100_000)}x`],
    ['bold', '**'.repeat(100_000)],
    ['spaces', `# Acceptance Criteria\n-${' '.repeat(200_000)}`],
    ['blank lines', `# Acceptance Criteria\n${'\n '.repeat(100_000)}x`],
  ])('reads 200,000 characters of %s in no time', (_, body) => {
    const start = performance.now();
    acceptanceCriteria(body);
    expect(performance.now() - start).toBeLessThan(within(2_000));
  });
});
