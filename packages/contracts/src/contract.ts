// A contract: the schemas of an input and its answer, and their types. An input is strict: an unknown field
// is refused. An answer is tolerant: a reader ignores unknown fields, because a newer daemon may add some;
// tests hold every real answer to its schema in both directions. No schema transforms what it reads, so that
// each has a JSON Schema; defaults are allowed.
import type { z } from 'zod'

/**
 * @typeParam Asked as the one who asks writes it @typeParam Read as the one who answers reads it: defaults
 * are filled in
 */
export interface Contract<Asked = unknown, Read = unknown, Answer = unknown> {
  /** What it is for, in one sentence. */
  readonly says: string
  readonly input: z.ZodType<Read, Asked>
  readonly output: z.ZodType<Answer>
}

/** A contract as a plain object that keeps the types of its schemas. */
export const contract = <Input extends z.ZodType, Output extends z.ZodType>(
  says: string,
  { input, output }: { input: Input; output: Output },
): { readonly says: string; readonly input: Input; readonly output: Output } => ({ says, input, output })
