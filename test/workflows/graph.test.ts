import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Workflow } from '../../src/model/workflow.ts';
import { printable } from '../../src/report/printable-text.ts';
import { style } from '../../src/report/style-and-phrases.ts';
import { drawing, mermaid } from '../../src/workflows/draw-graph.ts';
import { workflowOf } from './helpers.ts';

const LOCAL = `name: local
phases:
  - {id: setup, type: script, command: setup.sh, onSuccess: implement, onFailure: stuck}
  - {id: implement, type: agent, prompt: x, maxVisits: 5, onSuccess: checks, onFailure: stuck}
  - {id: checks, type: script, command: checks.sh, onSuccess: review, onFailure: implement, on: {timeout: stuck}}
  - id: review
    type: agent
    prompt: x
    output: {type: object}
    on: {approve: ask, changes: implement}
    onFailure: stuck
  - {id: ask, type: gate, on: {merge: wait, "say \\"no\\"": implement}}
  - {id: wait, type: poll, command: wait.sh, onSuccess: end}
  - {id: end, type: terminal}
  - {id: stuck, type: terminal, notify: true}
`;

describe('a drawing for the terminal', () => {
  it('has a line for each edge, loops and ends marked', async () => {
    expect(`\n${drawing(await workflowOf(LOCAL), style(false)).join('\n')}\n`).toBe(`
▶ setup      script    ─ success  → implement
                       ─ failure  → stuck
  implement  agent ≤5  ─ success  → checks
                       ─ failure  → stuck
  checks     script    ─ success  → review
                       ─ timeout  → stuck
                       ─ failure  → implement ↺
  review     agent     ─ approve  → ask
                       ─ changes  → implement ↺
                       ─ failure  → stuck
  ask        gate      ─ merge    → wait
                       ─ say "no" → implement ↺
  wait       poll      ─ success  → end
                       ─ failure  → (failed)
  end        terminal  ■ complete
  stuck      terminal  ■ needs attention
`);
  });

  it('shows where a ticket ends without a terminal', async () => {
    const text = 'name: w\nphases:\n  - {id: a, type: script, command: s.sh, maxVisits: 2, onFailure: a}';
    expect(drawing(await workflowOf(text), style(false))).toEqual([
      '▶ a  script ≤2  ─ success → (complete)',
      '                ─ failure → a ↺',
    ]);
  });

  it('is the same with colours but for the colours', async () => {
    const workflow = await workflowOf(LOCAL);
    const colored = drawing(workflow, style(true))
      .map((line) => printable(line, true))
      .join('\n');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colours are made of
    expect(colored.replace(/\u001b\[\d+m/g, '')).toBe(drawing(workflow, style(false)).join('\n'));
    expect(colored).toContain('\u001b[1msetup');
  });

  it('is never wider than 100 columns', () => {
    const id = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/);
    fc.assert(
      fc.property(
        fc.uniqueArray(id, { minLength: 1, maxLength: 6 }),
        fc.string({ maxLength: 60 }),
        (ids, outcome) => {
          const phases = ids.map((each) => ({
            id: each,
            type: 'agent',
            prompt: 'x',
            maxVisits: 100,
            onSuccess: ids[0],
            on: { [`x${outcome}`]: ids[0] },
          }));
          const lines = drawing(Workflow.parse({ name: 'w', phases }), style(false));
          expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
        },
      ),
    );
  });
});

describe('a Mermaid flowchart', () => {
  it('has a shape for each phase type and quotes what it must', async () => {
    expect(`\n${mermaid(await workflowOf(LOCAL)).join('\n')}\n`).toBe(`
flowchart TD
  p0["setup<br/>script"]
  p1(["implement<br/>agent ≤5"])
  p2["checks<br/>script"]
  p3(["review<br/>agent"])
  p4{"ask<br/>gate"}
  p5[/"wait<br/>poll"/]
  p6(("end<br/>complete"))
  p7(("stuck<br/>needs attention"))
  failed((failed))
  p0 -->|"success"| p1
  p0 -.->|"failure"| p7
  p1 -->|"success"| p2
  p1 -.->|"failure"| p7
  p2 -->|"success"| p3
  p2 -.->|"timeout"| p7
  p2 -.->|"failure"| p1
  p3 -->|"approve"| p4
  p3 -->|"changes"| p1
  p3 -.->|"failure"| p7
  p4 -->|"merge"| p5
  p4 -->|"say #quot;no#quot;"| p1
  p5 -->|"success"| p6
  p5 -.->|"failure"| failed
`);
  });
});
