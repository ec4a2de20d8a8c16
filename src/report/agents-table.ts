import { ADAPTERS } from '../agents/adapters.ts';
import { rangeText, SUPPORT_COLUMNS, type SurveyedAgent, supportsOf } from '../agents/installed-agents.ts';
import { oneLine, type Style } from './style.ts';
import { table } from './table.ts';

/** Two tables: installed agents, and what their adapters can do. */
export function agentsText(surveyed: readonly SurveyedAgent[], style: Style): string[] {
  const found = table(
    ['AGENT', 'ADAPTER', 'VERSION', 'TESTED', 'LOGGED IN', 'FOUND'],
    surveyed.map((one) => [
      `${one.agent}${one.isDefault ? ' (default)' : ''}`,
      one.adapter === one.agent ? '' : one.adapter,
      one.standing === 'older' || one.standing === 'newer'
        ? style.yellow(one.version ?? '')
        : (one.version ?? ''),
      one.tested ? rangeText(one.tested) : '',
      loginText(one),
      one.path === null ? style.dim('no') : oneLine(one.path),
    ]),
    style,
  );
  const adapters = Object.values(ADAPTERS).filter(({ name }) =>
    surveyed.some(({ adapter }) => adapter === name),
  );
  const supports = table(
    ['ADAPTER', ...SUPPORT_COLUMNS.map(({ title }) => title.toUpperCase())],
    adapters.map((adapter) => [adapter.name, ...SUPPORT_COLUMNS.map(({ of }) => of(supportsOf(adapter)))]),
    style,
  );
  return [...found, '', ...supports];
}

function loginText({ path, login }: SurveyedAgent): string {
  if (path === null || login === null) return '';
  return login.seen ? `yes (${login.by})` : 'no sign';
}
