import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { composeCommand, shellQuote } from '../../../src/model/text/quote-values-for-shell.ts';
import { readIncluded } from '../../../src/workflows/templates/find-template-variables-and-faults.ts';
import { renderArg, renderCommand, renderPrompt } from '../../../src/workflows/templates/render-template.ts';
import { directory } from '../helpers.ts';

/** What a shell hands to a command. */
function shell(command: string): string {
  return execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8' });
}

describe('a prompt', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['plain text', {}, 'plain text'],
    ['{{ title }}!', { title: 'Fix it' }, 'Fix it!'],
    ['[{{ none }}]', { none: null }, '[]'],
    ['{% if none %}a{% else %}b{% endif %}', { none: null }, 'b'],
    ['{{ none | default: "x" }}', { none: null }, 'x'],
    ['{{ list }}', { list: ['a', 'b'] }, '[\n  "a",\n  "b"\n]'],
    ['{{ object.a.b }} {{ object.a }}', { object: { a: { b: 1 } } }, '1 {\n  "b": 1\n}'],
    ['{% for x in list %}{{ forloop.index }}{{ x }} {% endfor %}', { list: ['a', 'b'] }, '1a 2b '],
    ['{% assign x = title | upcase %}{{ x }}', { title: 'a' }, 'A'],
    ['{{ html }}', { html: '<b>&"' }, '<b>&"'],
    ['{{ x | within: "a" }}', { x: '<b></b></A ></ab>' }, '<b></b>&lt;/A >&lt;/ab>'],
    ['{{ x | within: "a", "b.c" }}', { x: ['</b.c>', '</bxc>'] }, '[\n  "&lt;/b.c>",\n  "</bxc>"\n]'],
    ['{{ x | within: "a" }}', { x: null }, ''],
  ])('%j', async (text, variables, expected) => {
    expect(await renderPrompt(text, variables)).toBe(expected);
  });

  it('never reads data as a template', async () => {
    const text = '{{ title }}{% include "part.md" %}';
    const evil = '{{ description }}{% include "part.md" %}';
    expect(
      await renderPrompt(
        text,
        { title: evil, description: 'no' },
        { prompts: { 'part.md': '<{{ title }}>' } },
      ),
    ).toBe(`${evil}<${evil}>`);
  });

  it.each<[string, RegExp]>([
    ['a {{ nope }}', /cannot be rendered: undefined variable: nope \(line 1, column 6\)\.$/],
    ['{{ title | nope }}', /undefined filter: nope \(line 1, column 1\)/],
    ['{{ title | raw }}', /undefined filter: raw/],
    ['{{ title.constructor }}', /undefined variable: title.constructor/],
    ['{{ title.__proto__ }}', /undefined variable/],
    ['{% layout "x" %}', /tag "layout" not found/],
    ['{% include "/etc/passwd" %}', /Failed to lookup|there is no prompt/],
    ['{% include title %}', /Failed to lookup|there is no prompt/],
    ['{{ title', /not closed/],
    ['{% for i in (1..99999999) %}{% endfor %}', /memory alloc limit exceeded/],
  ])('%j is an error with its place', async (text, message) => {
    await expect(renderPrompt(text, { title: '/etc/passwd' })).rejects.toMatchObject({
      code: 'template/render',
      message: expect.stringMatching(message),
    });
  });

  it('does not change the variables it is given', async () => {
    const variables = Object.freeze({ title: 'a' });
    expect(await renderPrompt('{% increment title %}{% assign y = 1 %}{{ y }}', variables)).toBe('01');
  });

  it('sees its variables in included and in rendered prompts; its own names only in included ones', async () => {
    const prompts = { 'a.md': '{{ title }} {{ own }}', 'b.md': '{{ title }} {{ arg }}' };
    const text = '{% assign own = "o" %}{% include "a.md" %} {% render "b.md", arg: own %}';
    expect(await renderPrompt(text, { title: 'T' }, { prompts })).toBe('T o T o');
    await expect(
      renderPrompt('{% assign own = 1 %}{% render "a.md" %}', { title: 'T' }, { prompts }),
    ).rejects.toThrow(/undefined variable: own \(line 1, column 16 of "a.md"\)/);
  });

  it('includes from directories, the first that has a file', async () => {
    const user = directory({ 'a.md': 'user {% include "sub/b.md" %}' });
    const bundled = directory({ 'a.md': 'bundled', 'sub/b.md': 'b of bundled' });
    const rendered = async (text: string, ...dirs: string[]) =>
      renderPrompt(text, {}, { prompts: await readIncluded(text, dirs) });
    expect(await rendered('{% include "a.md" %}', user, bundled)).toBe('user b of bundled');
    await expect(rendered('{% include "../x" %}', user)).rejects.toThrow(/cannot be rendered/);
  });

  it('over a megabyte is refused', async () => {
    const variables = { x: 'ä'.repeat(600_000) };
    await expect(renderPrompt('{{ x }}', variables, { name: 'prompt "a.md"' })).rejects.toMatchObject({
      code: 'prompt/too-large',
      message: 'With its variables, prompt "a.md" has 1200000 bytes; at most 1048576 are allowed.',
      hint: expect.stringContaining('Shorten {{ x }}, which takes most of it'),
    });
    await expect(renderPrompt('x'.repeat(1_048_577), { y: 'y' })).rejects.toMatchObject({
      hint: expect.stringContaining('Shorten the prompt or what it includes'),
    });
  });
});

describe('an argument', () => {
  it('is the text itself, whatever that holds', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme' }), async (title) => {
        expect(await renderArg('<{{ title }}>', { title })).toBe(`<${title}>`);
      }),
    );
  });
});

describe('a command', () => {
  const value = fc
    .oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom(...`'"\`$\\(){}[]<>|&;#!~*? \n\tab-=%`) }),
      fc.constantFrom(
        "'; touch pwned; '",
        '$(touch pwned)',
        '`touch pwned`',
        "\\'; touch pwned #",
        '" && touch pwned "',
      ),
    )
    // Neither half a character nor NUL can be part of any argument.
    .map((text) => text.replaceAll('\0', '').replace(/\p{Surrogate}/gu, ''));

  it('hands every value on unchanged, between words and in either quotes', async () => {
    await fc.assert(
      fc.asyncProperty(value, async (title) => {
        const text = `printf '%s|' {{ title }} x{{ title }}y "in {{ title }} \\" quotes" 'in {{ title }} quotes' "$HOME"{{ title }} # done`;
        const command = await renderCommand(text, { title });
        const home = process.env.HOME ?? '';
        expect(shell(command)).toBe(
          [title, `x${title}y`, `in ${title} " quotes`, `in ${title} quotes`, `${home}${title}`, ''].join(
            '|',
          ),
        );
      }),
      { numRuns: 60 },
    );
  });

  it('never runs a value', async () => {
    const dir = directory({});
    await fc.assert(
      fc.asyncProperty(
        value,
        fc.constantFrom('{{ title }}', '"{{ title }}"', "'{{ title }}'"),
        async (title, place) => {
          const command = await renderCommand(`cd ${shellQuote(dir)} && : ${place}`, { title });
          shell(command);
          expect(existsSync(join(dir, 'pwned'))).toBe(false);
        },
      ),
      { numRuns: 60 },
    );
  });

  const dollar = '$';
  it.each<[string, RegExp]>([
    ['echo `{{ title }}`', /after "`"/],
    ['echo "$(echo {{ title }})"', /after "\$\(" in double quotes/],
    ['cat <<E\n{{ title }}\nE', /after "<<"/],
    ['echo \\{{ title }}', /after a backslash/],
    [`echo ${dollar}{{ title }}`, /after "\$"/],
    ["echo $'{{ title }}'", /after \$'/],
    ['echo $(( {{ title }} ))', /after arithmetic/],
    [`echo ${dollar}{x:-{{ title }}}`, /after a parameter expansion/],
    ['echo a # {{ title }}', /in a comment/],
    ["sh -c 'echo {{ title }}'", /a second time/],
    ['bash -ec "echo {{ title }}"', /a second time/],
    ['/bin/sh -x -c {{ title }}', /a second time/],
    ['eval {{ title }}', /a second time/],
    ['true; eval "echo {{ title }}"', /a second time/],
    ['{{ title }} --help', /the command itself/],
    ['true && {{ title }}', /the command itself/],
    ['env {{ title }}', /the command itself/],
    ['a[{{ title }}]=1', /after an array index/],
  ])('%j is refused: the shell’s quoting is not certain there', async (text, message) => {
    await expect(renderCommand(text, { title: 'x' })).rejects.toMatchObject({
      code: 'template/quoting',
      message: expect.stringMatching(message),
    });
  });

  it.each([
    ['echo "$(echo hi)"', 'hi\n'],
    ['x={{ title }}; printf %s "$x$(printf \'%s\' "$x")"', 'a bca bc'],
    ['echo $(printf %s {{ title }}) a#b', 'a bc a#b\n'],
    ['{% for c in list %}printf "%s," {{ c }};{% endfor %}', '1,2,'],
    ['{% if title %}echo yes{% else %}echo no{% endif %}', 'yes\n'],
    ['printf %s {{ none }}', ''],
  ])('%j runs', async (text, expected) => {
    expect(shell(await renderCommand(text, { title: 'a bc', list: [1, 2], none: null }))).toBe(expected);
  });

  it.each([
    '{% capture x %}{{ title }}{% endcapture %}',
    '{% include "a" %}',
    '{% render "a" %}',
    '{{ title | raw }}',
  ])('%s is not allowed: it could carry a value past the quoting', async (text) => {
    await expect(renderCommand(text, { title: 'x' })).rejects.toMatchObject({ code: 'template/render' });
  });

  it('refuses a value with a NUL character', async () => {
    await expect(renderCommand('echo {{ title }}', { title: 'a\0b' })).rejects.toThrow(/NUL/);
    await expect(renderCommand('echo \0{{ title }}', { title: 'a' })).rejects.toThrow(/NUL/);
    expect(() => composeCommand(['echo ', 'a\0b'])).toThrow(/NUL/);
  });
});
