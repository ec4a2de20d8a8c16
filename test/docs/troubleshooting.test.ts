import { expect, it } from 'vitest';
import { ERROR_CLASSES } from '../../src/model/ticket.ts';
import { doc, firstColumn } from './markdown.ts';
import { source, sourceFiles } from './source.ts';

const PAGE = 'docs/troubleshooting.md';

it('lists messages that the program really prints', () => {
  const program = sourceFiles().map(source).join('\n');
  const messages = doc(PAGE).headings.filter(({ level }) => level === 3);
  expect(messages.length).toBeGreaterThan(15);
  const pieces = messages.flatMap(({ text }) => text.split('…').map((piece) => piece.trim()));
  expect(pieces.filter((piece) => !program.includes(piece))).toEqual([]);
});

it('explains classes of errors that exist', () => {
  const classes: readonly string[] = ERROR_CLASSES;
  expect(firstColumn(PAGE, 'Class').filter((name) => !classes.includes(name))).toEqual([]);
});
