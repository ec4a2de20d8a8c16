import { maskedUrl } from './masked-url.ts';
import type { Settings } from './settings.ts';
import { ROWS } from './table.ts';

export interface ListedSetting {
  key: string;
  value: unknown;
  origin: string;
}

const MASK = '***';

/** Every setting in the table's order, records entry by entry, values of variables and addresses masked. */
export function listSettings(settings: Settings): ListedSetting[] {
  const origin = (key: string) => settings.origin[key] ?? 'default';
  return ROWS.flatMap(({ key, kind }): ListedSetting[] => {
    const value = valueAt(settings, key);
    const entries = kind.is === 'record' ? Object.entries(value as Record<string, RecordEntry | string>) : [];
    const secret = kind.is === 'maybe' && kind.of.is === 'url' && typeof value === 'string';
    if (secret) return [{ key, value: maskedUrl(value), origin: origin(key) }];
    if (entries.length === 0) return [{ key, value, origin: origin(key) }];
    return entries.map(([name, entry]) => ({
      key: `${key}.${name}`,
      value: masked(entry),
      origin: origin(`${key}.${name}`),
    }));
  });
}

function valueAt(settings: Settings, key: string): unknown {
  return key.split('.').reduce<unknown>((value, part) => (value as Record<string, unknown>)[part], settings);
}

interface RecordEntry {
  name?: string;
  env?: object;
}

/** Names of variables help, their values may be keys. The name of the entry is in the row already. */
function masked(entry: RecordEntry | string): unknown {
  if (typeof entry === 'string') return entry;
  const { name: _name, env, ...rest } = entry;
  if (env === undefined) return rest;
  return { ...rest, env: Object.fromEntries(Object.keys(env).map((name) => [name, MASK])) };
}
