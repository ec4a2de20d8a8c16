import { InputError } from '../model/errors.ts';

interface Schema<T> {
  safeParse(
    value: unknown,
  ):
    | { success: true; data: T }
    | { success: false; error: { issues: { path: PropertyKey[]; message: string }[] } };
}

/** A value that was put together from what a person typed, in the form of its schema. */
export function parsed<T>(schema: Schema<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new InputError(
    'plan/value',
    `${issue?.path.join('.') ?? 'The value'}: ${issue?.message}.`.replace('..', '.'),
    {
      hint: 'signalbox plan add --help says what each flag takes.',
    },
  );
}
