import { fromText } from '../../../config/check.ts';
import { found } from '../../../config/kinds.ts';
import { InputError } from '../../../model/errors.ts';

/** Layers from lowest to highest. A key that is missing or undefined in a layer is not set there. */
export interface ConfigLayers<T extends object> {
  defaults: T;
  settings?: Given<T>;
  /** Texts are read as the type of the default, when that is a number or a boolean; an empty text then counts as not set. */
  env?: { [K in keyof T]?: T[K] | string | undefined };
  explicit?: Given<T>;
}

type Given<T> = { [K in keyof T]?: T[K] | undefined };

/** Merges layers of configuration key by key: defaults < settings < env < explicit. The layers stay as they are. */
export class ConfigResolver<T extends object> {
  readonly #layers: ConfigLayers<T>;

  constructor(layers: ConfigLayers<T>) {
    this.#layers = layers;
  }

  /** Throws an InputError that names the key when a text from `env` cannot be read. */
  resolve(): T {
    const { defaults, settings = {}, env = {}, explicit = {} } = this.#layers;
    const read = Object.entries(env).map(([key, value]) => [key, readEnv(key, value, own(defaults, key))]);
    const layers = [defaults, settings, Object.fromEntries(read), explicit];
    const said = layers.flatMap((layer) =>
      Object.entries(layer).filter(([, value]: [string, unknown]) => value !== undefined),
    );
    return Object.fromEntries(said) as T;
  }
}

function readEnv(key: string, value: unknown, preset: unknown): unknown {
  const kind = typeof preset === 'number' ? 'number' : typeof preset === 'boolean' ? 'boolean' : null;
  if (typeof value !== 'string' || kind === null) return value;
  if (value === '') return undefined;
  const result = fromText({ is: kind }, value);
  if (typeof result === 'boolean' || Number.isFinite(result)) return result;
  const wanted = kind === 'number' ? 'a number' : 'true, false, 1 or 0';
  throw new InputError('config/value', `${key}: found ${found(value)}; allowed is ${wanted}.`, {
    hint: `Correct the environment variable that sets ${key}, or unset it.`,
    details: { key, value },
  });
}

function own(object: object, key: string): unknown {
  return Object.hasOwn(object, key) ? (object as Record<string, unknown>)[key] : undefined;
}
