import { ADAPTERS } from '../../agents/index.ts';
import { SUPPORT_COLUMNS, supportsOf } from '../../agents/supports.ts';
import { rangeText } from '../../agents/versions.ts';
import { ACCESS } from '../../model/workflow.ts';
import { code, type DocTables, markdownTable } from './tables.ts';

const PROGRAMS = Object.values(ADAPTERS).flatMap(({ name, program }) => (program ? [{ name, program }] : []));

/** The tables of docs/agents.md, from what the adapters declare. */
export function agentDocTables(): DocTables {
  return {
    'docs/agents.md': {
      title: 'Agents',
      sections: { programs: programTable(), supports: supportTable(), access: accessTable() },
    },
  };
}

function programTable(): string {
  const cells = PROGRAMS.map(({ name, program: { title, package: from, tested, login } }) => [
    code(name),
    title,
    code(from),
    rangeText(tested),
    login.env.map(code).join(', '),
    login.files.map((file) => code(`~/${file}`)).join(', '),
    Object.keys(login.moved).map(code).join(', '),
  ]);
  const head = ['Agent', 'Program', 'npm package', 'Tested', 'Key in', 'Login in', 'Moved by'];
  return markdownTable(head, cells);
}

function supportTable(): string {
  const cells = Object.values(ADAPTERS).map((adapter) => [
    code(adapter.name),
    ...SUPPORT_COLUMNS.map(({ of }) => of(supportsOf(adapter))),
  ]);
  return markdownTable(['Adapter', ...SUPPORT_COLUMNS.map(({ title }) => title)], cells);
}

function accessTable(): string {
  const cells = PROGRAMS.map(({ name, program }) => [
    code(name),
    ...ACCESS.map((level) => program.access[level]),
  ]);
  return markdownTable(['Agent', ...ACCESS.map(code)], cells);
}
