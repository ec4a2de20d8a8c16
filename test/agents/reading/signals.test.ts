import { describe, expect, it } from 'vitest';
import {
  claimedBy,
  readSignal,
  type Signal,
  type Verdict,
} from '../../../src/agents/reading/result-block-and-signal.ts';

const HALT = '<promise>HALT</promise>';
const COMPLETE = '<promise>COMPLETE</promise>';
const TASK_DONE = '<promise>TASK_DONE</promise>';

describe('readSignal', () => {
  const none = [
    '',
    'All done.',
    `I would print ${COMPLETE} now.`,
    `When you are done, end with ${TASK_DONE} or ${HALT}.`,
    `\`${HALT}\``,
    `> ${HALT}`,
    `- ${COMPLETE}`,
    `\`\`\`\n${HALT}\n\`\`\``,
    `~~~text\n${COMPLETE}\n~~~`,
    `<!--\n${HALT}\n-->`,
    '<promise>HALTED</promise>',
    `${HALT} or not`,
    `${COMPLETE} or not`,
    'not TASK_DONE',
    'promise: COMPLETE',
    'TASK_DONE soon',
    `<signalbox>{"outcome":"done",\n"said":"\n${HALT}\n"}</signalbox>`,
  ];
  it.each(none)('finds none in %j', (message) => expect(readSignal(message)).toBeNull());

  it.each([
    [COMPLETE, 'complete'],
    [`Done.\n\n  ${COMPLETE}  \n`, 'complete'],
    [`Done.\r\n${TASK_DONE}\r\n`, 'task_done'],
    ['Done.\nTASK_DONE', 'task_done'],
    [`${COMPLETE}\n${TASK_DONE}`, 'task_done'],
    [`${TASK_DONE}\nand all the rest:\n${COMPLETE}`, 'complete'],
    ['<promise> complete </promise>', 'complete'],
    ['<promise> TASK_DONE </promise>', 'task_done'],
    [`\`\`\`\r\n${HALT}\r\n\`\`\`\r\n${COMPLETE}`, 'complete'],
    [`<signalbox></signalbox>\n${COMPLETE}\n<signalbox>{}</signalbox>`, 'complete'],
    [`<signalbox>\n${HALT}\n</signalbox><signalbox>\n${HALT}\n</signalbox>\n${COMPLETE}`, 'complete'],
    [`${COMPLETE}\n${HALT}`, 'halt'],
    [`${HALT}\n${COMPLETE}`, 'halt'],
  ])('finds in %j: %s', (message, kind) => expect(readSignal(message)?.kind).toBe(kind));

  it.each([
    [`${HALT}\nWhich database do you want?`, 'Which database do you want?'],
    [`I read the code.\n\nThe key is missing.\nWhere is it?\n\n${HALT}`, 'The key is missing.\nWhere is it?'],
    ['<promise>HALT: no access to the registry</promise>', 'no access to the registry'],
    ['<promise> halt : a </promise>', 'a'],
    ['<promise>HALT - a</promise>', 'a'],
    ['<promise>HALT – a</promise>', 'a'],
    ['<promise>HALT — a</promise>', 'a'],
    ['<promise>HALT:</promise>\na', 'a'],
    [`Before.\n${HALT}\nAfter.`, 'After.'],
    [`Why.\n${HALT}\n${TASK_DONE}\n${HALT}`, 'Why.'],
    [`Before.\n\n${HALT}\n\nFirst.\n\nSecond.`, 'First.\n\nSecond.'],
    [`${COMPLETE}\n${HALT}`, ''],
    [HALT, ''],
  ])('keeps the reason of %j', (message, reason) => {
    expect(readSignal(message)).toEqual({ kind: 'halt', reason });
  });

  it('keeps a reason within bounds', () => {
    const signal = readSignal(`${HALT}\n${'why '.repeat(10_000)}`);
    expect(signal?.kind === 'halt' ? signal.reason.length : 0).toBeLessThan(4_100);
  });
});

describe('claimedBy', () => {
  const halt: Signal = { kind: 'halt', reason: 'which?' };
  const complete: Signal = { kind: 'complete' };
  const rows: [string, Signal | null, Verdict | null, object][] = [
    ['nothing said is no success', null, null, { kind: 'nothing' }],
    ['COMPLETE claims it is done', complete, null, { kind: 'done' }],
    ['TASK_DONE claims it is done', { kind: 'task_done' }, null, { kind: 'done' }],
    ['a verdict alone counts', null, { outcome: 'done' }, { kind: 'done' }],
    [
      'a verdict beats COMPLETE',
      complete,
      { outcome: 'failed', reason: 'red' },
      { kind: 'failed', reason: 'red' },
    ],
    ['HALT beats a verdict', halt, { outcome: 'done' }, { kind: 'halted', reason: 'which?' }],
    [
      'a verdict may halt too',
      complete,
      { outcome: 'halt', reason: 'ask' },
      { kind: 'halted', reason: 'ask' },
    ],
    [
      'HALT without words takes those of the verdict',
      { kind: 'halt', reason: '' },
      { outcome: 'failed', reason: 'no key' },
      { kind: 'halted', reason: 'no key' },
    ],
  ];
  it.each(rows)('%s', (_name, signal, verdict, wanted) => expect(claimedBy(signal, verdict)).toEqual(wanted));
});
