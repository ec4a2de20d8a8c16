import { docTables } from '../content/doc-tables.ts';
import { generate as generateFiles } from '../content/generate.ts';
import { agentDocTables } from './agent-docs.ts';

/** Everything that is made from the code: writes what is not current and says what that was; with `check` it only looks. */
export function generate(root: string, { check }: { check: boolean }): string[] {
  return generateFiles(root, { check, documents: { ...docTables(), ...agentDocTables() } });
}
