import { agentDocTables } from './agent-tables.ts';
import { generate as generateFiles } from './files.ts';
import { docTables } from './tables.ts';

/** Everything that is made from the code: writes what is not current and says what that was; with `check` it only looks. */
export function generate(root: string, { check }: { check: boolean }): string[] {
  return generateFiles(root, { check, documents: { ...docTables(), ...agentDocTables() } });
}
