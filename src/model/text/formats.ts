import { z } from 'zod';

const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** The values of `format` in the schema of a result, and the forms that they stand for. */
const FORMATS: Readonly<Record<string, z.ZodType>> = {
  'date-time': z.iso.datetime({ offset: true }),
  date: z.iso.date(),
  time: z.string().regex(TIME),
  duration: z.iso.duration(),
  email: z.email(),
  hostname: z.hostname(),
  ipv4: z.ipv4(),
  ipv6: z.ipv6(),
  uri: z.url(),
  uuid: z.uuid(),
};

export const TEXT_FORMATS: readonly string[] = Object.keys(FORMATS);

/** False for a text that does not have the form; a form that is not known asks for nothing. */
export function hasFormat(text: string, format: unknown): boolean {
  if (typeof format !== 'string' || !Object.hasOwn(FORMATS, format)) return true;
  return FORMATS[format]?.safeParse(text).success !== false;
}
