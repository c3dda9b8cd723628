// What a contract is: the schema of an input and the schema of an answer, and the types that follow from
// them. An input is strict: a field that nobody knows is refused. An answer is tolerant: a reader ignores a
// field that it does not know, because a newer daemon may add one. Tests hold every real answer to its schema
// in both directions. No schema transforms what it reads, so that each one has a JSON Schema. Defaults are
// allowed.
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
