/** A flag to take out of a list of arguments. */
export interface FlagRule {
  names: readonly string[];
  takesValue: boolean;
  /** Only with such a value; for flags like `-c key=value` that mean many things. */
  when?: RegExp;
}

export interface FoundFlag {
  name: string;
  value: string | null;
}

/** Splits arguments into those no rule names and the flags that were found, in all their spellings. */
export function takeFlags(
  args: readonly string[],
  rules: readonly FlagRule[],
): { kept: string[]; found: FoundFlag[] } {
  const kept: string[] = [];
  const found: FoundFlag[] = [];
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] as string;
    if (arg === '--') {
      kept.push(...args.slice(i));
      break;
    }
    const hit = match(arg, args[i + 1], rules);
    if (!hit) {
      kept.push(arg);
      continue;
    }
    found.push(hit.flag);
    i += hit.extra;
  }
  return { kept, found };
}

function match(arg: string, next: string | undefined, rules: readonly FlagRule[]) {
  for (const rule of rules) {
    for (const name of rule.names) {
      const flag = spelling(arg, next, name, rule.takesValue);
      if (flag && (!rule.when || rule.when.test(flag.flag.value ?? ''))) return flag;
    }
  }
  return undefined;
}

/** `--flag`, `--flag value`, `--flag=value`, and `-fvalue` for short ones. */
function spelling(arg: string, next: string | undefined, name: string, takesValue: boolean) {
  if (!takesValue) return arg === name ? { flag: { name, value: null }, extra: 0 } : undefined;
  if (arg === name) return { flag: { name, value: next ?? null }, extra: next === undefined ? 0 : 1 };
  if (arg.startsWith(`${name}=`)) return { flag: { name, value: arg.slice(name.length + 1) }, extra: 0 };
  const short = name.length === 2 && arg.startsWith(name);
  return short ? { flag: { name, value: arg.slice(2) }, extra: 0 } : undefined;
}
