import { describe, expect, it } from 'vitest';
import { checkLoaded } from '../../../src/workflows/check/check-workflow.ts';
import { loadWorkflow } from '../../../src/workflows/load-and-list-workflows.ts';
import { D, FILES, phases, problemsOf } from '../helpers.ts';

describe('templates', () => {
  it('are looked at where they are written in the workflow', async () => {
    const text = `name: w
phases:
  - id: a
    type: agent
    prompt: |
      Do {{ titel }}
      and {{ plan.nam }} {{ foo.bar }}
      {% if xx %}{{ context.yy }}{% endif %}
    onSuccess: b
  - id: b
    type: script
    command: s.sh
    args: ["{{ title }}", "x {{ later }}", '{{ title | upper }}', "{{ title"]
    onSuccess: c
  - id: c
    type: script
    command: s.sh
    capture:
      later: stdout
      q: echo \`{{ title }}\``;
    expect(await problemsOf(text, FILES)).toEqual([
      '6:13: Unknown variable "titel". Did you mean "title"?',
      '7:14: "plan" has no "nam". Did you mean "name"?',
      '7:29: Unknown variable "foo".',
      '8:13: Unknown variable "xx".',
      '8:21: No phase captures "yy".',
      '13:33: "later" is captured by "c", which never comes before "b".',
      '13:56: There is no filter "upper".',
      '13:68: Output "{{ title" not closed.',
      '20:10: A value after "`" cannot be quoted for the shell with certainty.',
    ]);
  });

  it.each<[string, string | undefined]>([
    ['{{ title.zork }}', '"title" is a text and has no "zork".'],
    ['{{ title["zork"] }}', '"title" is a text and has no "zork".'],
    ['{{ previous_error.message }}', '"previous_error" is a text and has no "message".'],
    ['{{ acceptanceCriteria.zork }}', '"acceptanceCriteria" is a list and has no "zork".'],
    [
      '{{ acceptanceCriteria.frist }}',
      '"acceptanceCriteria" is a list and has no "frist". Did you mean "first"?',
    ],
    ['{{ acceptanceCriteria.first.zork }}', '"acceptanceCriteria.first" is a text and has no "zork".'],
    ['{{ acceptanceCriteria[0].zork }}', '"acceptanceCriteria.0" is a text and has no "zork".'],
    ['{{ title.size.zork }}', '"title.size" is a number and has no "zork".'],
    ['{{ visit.size }}', '"visit" is a number and has no "size".'],
    ['{% for c in title.zork %}{{ c.zork }}{% endfor %}', '"title" is a text and has no "zork".'],
    ['{{ title.size }} {{ title[0] }} {{ title.length }} {{ acceptanceCriteria[title] }}', undefined],
    [
      '{{ acceptanceCriteria.first.size }} {{ acceptanceCriteria[-1] }} {{ acceptanceCriteria.size }}',
      undefined,
    ],
  ])('%s: a member of a text, a list or a number', async (prompt, problem) => {
    const text = phases(`{id: a, type: agent, prompt: ${JSON.stringify(prompt)}}`);
    const found = await problemsOf(text, FILES);
    expect(found.map((line) => line.replace(/^\S+ /, ''))).toEqual(problem ? [problem] : []);
  });

  it('are looked at in prompt files and what those include, each mistake once', async () => {
    const text = phases(
      '{id: a, type: agent, promptTemplate: p.md, onSuccess: b}',
      '{id: b, type: agent, promptTemplate: p.md}',
    );
    const files = {
      'prompts/p.md':
        'Hi {{ titel }}\n{% include "q.md" %}{% include "nix.md" %}\n{% render "r.md", who: title %}',
      'prompts/q.md': '{{ tittle }}\n{% include "q.md" %}',
      'prompts/r.md': '{{ who }} {{ branch }} {{ whom }}',
    };
    expect(await problemsOf(text, files)).toEqual([
      'prompts/p.md:1:7: Unknown variable "titel". Did you mean "title"?',
      'prompts/p.md:2:21: There is no prompt "nix.md" to include.',
      'prompts/q.md:1:4: Unknown variable "tittle". Did you mean "title"?',
      'prompts/q.md:2:1: Prompt "q.md" includes itself.',
      'prompts/r.md:1:27: Unknown variable "whom".',
    ]);
  });

  it('may use what a phase on some way to them captures, gates and later phases of a loop included', async () => {
    const text = phases(
      '{id: a, type: agent, prompt: "{{ verdict }} {{ g_message }} {{ context.g_decision }}", maxVisits: 3, onSuccess: r}',
      '{id: r, type: script, command: s.sh, capture: {verdict: stdout}, onSuccess: g, onFailure: a}',
      '{id: g, type: gate, prompt: "{{ verdict }}", on: {again: a, ok: d}}',
      D,
    );
    expect(await problemsOf(text, FILES)).toEqual([]);
  });

  it('may use context that a ticket brings along when they allow for its absence', async () => {
    const text = phases(
      '{id: a, type: agent, prompt: "{% if context.pr %}{{ context.pr }}{% endif %}{{ context.x | default: 1 }}"}',
    );
    expect(await problemsOf(text)).toEqual([]);
  });

  it.each([
    ['{% set x = title %}', '{% set %}', 'Write {% assign x = title %}.'],
    ['{% set x %}y{% endset %}', '{% set %}', 'Write {% capture x %} … {% endcapture %}.'],
    ['{{ title | default("x, y") }}', 'default(…)', 'Write | default: "x, y".'],
    ['{{ title | upper() }}', 'upper(…)', 'Write | upcase.'],
    ['{{ loop.index }}', 'loop.index', 'Write forloop.index.'],
    ['{% if title %}{% elif branch %}{% endif %}', '{% elif %}', 'Write {% elsif … %}.'],
    ['{# note #}', '{# … #}', 'Write {% comment %} … {% endcomment %}.'],
    [
      '{{ title if branch else repo }}',
      '"… if … else …"',
      'Write {% if branch %}{{ title }}{% else %}{{ repo }}{% endif %}.',
    ],
    ['{% if title is defined %}x{% endif %}', '"is defined"', 'Write {% if name %}: null counts as false.'],
    ['{{ title ~ branch }}', '"~"', 'Write {{ a | append: b }}.'],
  ])('that were written for Nunjucks are answered with the Liquid form: %s', async (prompt, what, hint) => {
    const text = `name: w\nphases:\n  - id: a\n    type: agent\n    prompt: |\n      ${prompt}\n`;
    const problems = await checkLoaded(await loadWorkflow({ file: 'w.yaml', text }), {
      prompts: [],
      scripts: [],
    });
    expect(problems[0]).toMatchObject({
      line: 6,
      message: `${what} is Nunjucks; templates are Liquid.`,
      hint,
    });
    expect(problems.filter(({ message }) => !message.includes('Nunjucks'))).toEqual([]);
  });

  it('may speak of Nunjucks in raw text and in quotes', async () => {
    const prompt =
      '{% raw %}{% set x = 1 %} {# c #}{% endraw %} {{ title | append: "loop.index ~ default(1)" }}';
    const text = `name: w\nphases:\n  - id: a\n    type: agent\n    prompt: |\n      ${prompt}\n`;
    expect(await problemsOf(text)).toEqual([]);
  });
});
