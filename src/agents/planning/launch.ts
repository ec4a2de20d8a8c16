import { join } from 'node:path';
import type { AgentConfig } from '../../model/agent.ts';
import { type FlagRule, permissionFlags, takeFlags } from '../flags.ts';

interface PlannerSkill {
  name: string;
  description: string;
  /** The directory with its SKILL.md. */
  dir: string;
}

export interface PlannerServer {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** What a planning session needs, in no CLI's words. */
export interface PlannerRequest {
  agent: AgentConfig;
  /** A directory of the session's own, outside any worktree; files go there and nowhere else. */
  dir: string;
  /** Our system prompt. */
  prompt: string;
  skills: readonly PlannerSkill[];
  mcpServers: Readonly<Record<string, PlannerServer>>;
  /** Directories outside the working directory that the session writes to. */
  writes: readonly string[];
  /** The environment it will have; only to see what the user has set. */
  env: Readonly<Record<string, string | undefined>>;
}

export type LaunchFile =
  | { path: string; text: string; mode: 0o600 | 0o700 }
  /** A symbolic link. */
  | { path: string; to: string };

/** How a session is started: made by a pure function, carried out by one spawn. */
export interface LaunchPlan {
  argv: string[];
  /** Added to the user's own environment. */
  env: Record<string, string>;
  /** Written before and removed afterwards, each below the request's `dir`. */
  files: LaunchFile[];
  /** What this CLI cannot be given. */
  notes: string[];
}

export type Launcher = (request: PlannerRequest) => LaunchPlan;

export function secretFile(dir: string, name: string, text: string): LaunchFile {
  return { path: join(dir, name), text, mode: 0o600 };
}

/** The agent's own arguments without what belongs to headless calls, and without permissions: a person sits there. */
export function ownArgs({ adapter, defaultArgs }: AgentConfig, headless: readonly FlagRule[]): string[] {
  return takeFlags(defaultArgs, [...headless, ...permissionFlags(adapter)]).kept;
}

/** For CLIs that load no skills from a place of our choice: the agent reads the files itself. */
export function withSkillIndex(prompt: string, skills: readonly PlannerSkill[]): string {
  if (skills.length === 0) return prompt;
  const lines = skills.map(
    ({ name, description, dir }) => `- ${name}: ${description} (${join(dir, 'SKILL.md')})`,
  );
  return `${prompt.trimEnd()}\n\n## Skills\n\nRead the file of a skill before you do what it is about.\n\n${lines.join('\n')}\n`;
}
