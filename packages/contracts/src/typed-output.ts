// The answer of a task as a value of a zod type, which a TypeScript program gives instead of a JSON Schema.
// T1. What goes over the wire is the JSON Schema of what the model must write. The answer is read by the zod type, so its defaults and transforms hold.
// T2. What JSON Schema cannot say is refused before the task is submitted, and never left out silently.
import { BeaverError, type JsonObject, type JsonValue, messageOf } from '@beaver/core'
import { z } from 'zod'
import type { SubmitTask, TaskOutcome } from './requests/submit.ts'

/** A task whose answer may have to fit a zod type. */
export type TypedTask<Output> = SubmitTask & { readonly output?: z.ZodType<Output> | undefined }

/** What a typed task ended with. `output` is there if the task completed and an output was asked for. */
export type TypedOutcome<Output> = Omit<TaskOutcome, 'output'> & { readonly output?: Output }

/**
 * The JSON Schema of what a zod type reads.
 *
 * @throws {BeaverError} `invalid_arguments` for a type that JSON Schema cannot describe
 */
function outputSchemaOf(type: z.ZodType): JsonObject {
  try {
    return z.toJSONSchema(type, {
      io: 'input',
      // The pattern says the same as the format, in a way that not every engine reads.
      override: ({ jsonSchema }) => void (jsonSchema.format !== undefined && delete jsonSchema.pattern),
    }) as JsonObject
  } catch (error) {
    const message = `cannot be described by a JSON Schema: ${messageOf(error)}`
    throw new BeaverError('invalid_arguments', `The type of the output ${message}`, { problems: [{ path: 'output', message }] })
  }
}

/** The task as it goes over the wire. */
export function wireTask<Output>({ output, ...task }: TypedTask<Output>): SubmitTask {
  return output === undefined ? task : { ...task, output_schema: outputSchemaOf(output) }
}

/**
 * The answer of a task, read by its type.
 *
 * @throws {BeaverError} `invalid_arguments` if the answer does not pass a check of the type that JSON Schema cannot express
 * @example
 * import { z } from 'zod'
 *
 * readOutput(z.object({ total: z.number() }), { total: 3 })?.total // => 3
 */
export function readOutput<Output>(type: z.ZodType<Output> | undefined, value: JsonValue | undefined): Output | undefined {
  if (type === undefined || value === undefined) return value as Output | undefined
  const read = type.safeParse(value)
  if (read.success) return read.data
  const problems = read.error.issues.map(({ path, message }) => ({ path: ['output', ...path].join('.'), message }))
  const said = problems.map(({ path, message }) => `${path}: ${message}`).join('; ')
  throw new BeaverError('invalid_arguments', `The answer fits its JSON Schema, but not its type: ${said}`, { problems })
}
