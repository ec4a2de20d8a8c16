import type { DoctorFinding } from '../config/doctor/programs.ts';
import { ADAPTERS } from './index.ts';
import type { SurveyedAgent } from './survey.ts';
import { rangeText } from './versions.ts';

/** What is worth knowing about the agents that were found, and about those that were asked for and are not there. */
export function agentFindings(surveyed: readonly SurveyedAgent[]): DoctorFinding[] {
  return surveyed.flatMap((one) => {
    const what = `agent ${one.agent}`;
    const program = ADAPTERS[one.adapter]?.program ?? null;
    const askedFor = one.isDefault || one.configured;
    if (one.problem !== null && one.fix !== null && (askedFor || program))
      return [{ level: one.isDefault ? 'bad' : 'warn', what, detail: one.problem, fix: one.fix }];
    if (one.path === null) {
      if (!askedFor) return [];
      const install = program ? `Install it (npm install -g ${program.package})` : 'Install it';
      const instead = one.isDefault
        ? 'name another one in defaultAgent'
        : `correct agents.${one.agent}.command`;
      return [
        {
          level: one.isDefault ? 'bad' : 'warn',
          what,
          detail: `${one.command} not found`,
          fix: `${install}, or ${instead}.`,
        },
      ];
    }
    const findings: DoctorFinding[] = [];
    const warn = (detail: string, fix: string) => findings.push({ level: 'warn', what, detail, fix });
    if (one.problem !== null && one.fix === null)
      warn(
        `${one.path} ${one.problem}`,
        `Run it by hand to see why: ${[one.path, ...(program?.version ?? [])].join(' ')}`,
      );
    if (program && (one.standing === 'older' || one.standing === 'newer'))
      warn(
        `version ${one.version} is ${one.standing} than what was tested (${rangeText(program.tested)})`,
        `It may work all the same. To have a tested one: npm install -g ${program.package}@${program.tested[1]}`,
      );
    if (program && one.login?.seen === false)
      warn(
        'no sign of a login',
        `Log in with ${one.command}, or set ${program.login.env.join(' or ')}. Logins kept elsewhere are not seen.`,
      );
    return findings;
  });
}
