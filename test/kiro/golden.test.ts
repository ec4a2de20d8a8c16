import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseTasks } from '../../src/kiro/parse-tasks.ts';
import { FIXTURES, fixture, golden, sayUnits, units } from './support.ts';

const NAMES = readdirSync(FIXTURES).sort();

function whole(text: string): object {
  const { tasks, problems } = parseTasks(text);
  return {
    tasks: golden(tasks),
    units: sayUnits(units(text)),
    leaves: sayUnits(units(text, { unit: 'leaf', includeOptional: true })),
    problems: problems.map(({ line, severity, code, message }) => `${line} ${severity} ${code}: ${message}`),
  };
}

describe('contract 2: the forms of tasks.md that are found in the wild', () => {
  it('are all twelve here', () => {
    expect([...new Set(NAMES.map((name) => name.slice(0, 2)))]).toEqual(
      Array.from({ length: 12 }, (_, index) => String(index + 1).padStart(2, '0')),
    );
  });

  it.each(NAMES)('%s is read as its golden tree', async (name) => {
    const text = `${JSON.stringify(whole(fixture(name)), null, 2)}\n`;
    await expect(text).toMatchFileSnapshot(`${FIXTURES}${name}/tree.json`);
  });

  it.each(NAMES)('%s is the same with other line ends and a byte order mark', (name) => {
    const text = fixture(name);
    expect(whole(`\ufeff${text.replaceAll('\n', '\r\n')}`)).toEqual(whole(text));
    expect(whole(text.replaceAll('\n', '\r'))).toEqual(whole(text));
  });

  it.each(NAMES)('%s loses no check box without saying so', (name) => {
    const text = fixture(name);
    const { all, problems } = parseTasks(text);
    const lines = new Set([...all.map((task) => task.line), ...problems.map((problem) => problem.line)]);
    const boxes = text
      .split('\n')
      .flatMap((line, index) => (/^\s*(?:[-*+]|\d+\.)\s+\[.?\]/.test(line) ? [index + 1] : []));
    const lost = boxes.filter((line) => !lines.has(line));
    expect(lost).toEqual(LEFT_OUT[name] ?? []);
  });
});

/** Legends, code and comments; a check list is told by the line of its heading. */
const LEFT_OUT: Record<string, number[]> = {
  '04-states': [17, 18, 19, 20, 21],
  '10-heading-tasks': [17],
  '11-unnumbered': [18],
};
