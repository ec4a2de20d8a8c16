import { InputError } from '../../model/errors.ts';

interface Schema<T> {
  safeParse(
    value: unknown,
  ):
    | { success: true; data: T }
    | { success: false; error: { issues: { path: PropertyKey[]; message: string }[] } };
}

/** A value that was put together from what a person typed for `plan new`, `add` or `edit`, in the form of its schema. */
export function parsed<T>(schema: Schema<T>, value: unknown, by: 'new' | 'add' | 'edit'): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.join('.') || 'The value';
  throw new InputError('plan/value', `${where}: ${issue?.message.replace(/\.$/, '')}.`, {
    hint: `signalbox plan ${by} --help says what is taken.`,
  });
}
