export interface Mutant {
  start: number;
  end: number;
  wrapping: 'statement' | 'element' | 'property' | 'expression';
  was: string;
  by: string;
  line: number;
}

export function mutantsOf(code: string, part?: { from?: string; without?: string[] }): Mutant[];
export function switched(code: string, mutants: Mutant[], firstId: number): string;
