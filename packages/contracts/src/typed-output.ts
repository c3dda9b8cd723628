// The answer of a task as a value of a zod type, which a TypeScript program gives instead of a JSON Schema.
// What goes over the wire is the JSON Schema of what the model must write. The answer is read by the zod
// type, so its defaults and transforms hold. What JSON Schema cannot say is judged when the answer is there
// (UnfitOutputError). An answer that was paid for is never lost.
import { BeaverError, type JsonValue, messageOf, type Problem } from '@beaver/core'
import type { z } from 'zod'
import type { SubmitTask, TaskOutcome } from './requests/submit.ts'
import { outputSchemaOf } from './zod-schema.ts'

/** A task whose answer may have to fit a zod type. */
export type TypedTask<Output> = SubmitTask & { readonly output?: z.ZodType<Output> | undefined }

/** What a typed task ended with. `output` is there if the task completed and an output was asked for. */
export type TypedOutcome<Output> = Omit<TaskOutcome, 'output'> & { readonly output?: Output }

/** The task as it goes over the wire. */
export function wireTask<Output>({ output, ...task }: TypedTask<Output>): SubmitTask {
  return output === undefined ? task : { ...task, output_schema: outputSchemaOf(output) }
}

/**
 * What a task ended with, as far as its answer goes. `output_text` is what the agent said, and `output` the
 * same as a value.
 */
export interface EndedTask {
  readonly task_id: string
  readonly output_text: string
  readonly output?: JsonValue | undefined
}

/**
 * The answer of a completed task fits its JSON Schema, but does not pass a check of its zod type, such as a
 * refinement. The answer is here, and it stays in the journal. `problems` has the places.
 *
 * @example
 * import { z } from 'zod'
 *
 * const type = z.object({ total: z.number().refine((total) => total > 0) })
 * const ended = { task_id: 'task_1', output_text: '{"total":0}', output: { total: 0 } }
 * const error = await readOutput(type, ended).catch((thrown) => thrown)
 * error.output // => { total: 0 }
 * error.problems[0].path // => 'output.total'
 */
export class UnfitOutputError extends BeaverError implements EndedTask {
  readonly task_id: string
  readonly output_text: string
  readonly output: JsonValue

  constructor(
    { task_id, output_text, output = null }: EndedTask,
    problems: readonly Problem[],
    options: { readonly cause?: unknown } = {},
  ) {
    const problemTexts = problems.map(({ path, message }) => `${path}: ${message}`).join('; ')
    super(
      'output_invalid',
      `The task ${task_id} completed. Its answer fits its JSON Schema, but not its type: ${problemTexts}`,
      { ...options, problems },
    )
    this.name = 'UnfitOutputError'
    this.task_id = task_id
    this.output_text = output_text
    this.output = output
  }
}

/**
 * The answer of a task, read by its type. A check or a transform of the type may be asynchronous.
 *
 * @throws {UnfitOutputError} if the answer does not pass a check of the type that JSON Schema cannot express,
 * or a transform throws
 * @example
 * import { z } from 'zod'
 *
 * const ended = { task_id: 'task_1', output_text: '{"total":3}', output: { total: 3 } }
 * const answer = await readOutput(z.object({ total: z.number() }), ended)
 * answer?.total // => 3
 */
export async function readOutput<Output>(
  type: z.ZodType<Output> | undefined,
  ended: EndedTask,
): Promise<Output | undefined> {
  if (type === undefined || ended.output === undefined) return ended.output as Output | undefined
  let read: z.ZodSafeParseResult<Output>
  try {
    read = await type.safeParseAsync(ended.output)
  } catch (error) {
    throw new UnfitOutputError(
      ended,
      [{ path: 'output', message: `a check or a transform of the type failed: ${messageOf(error)}` }],
      { cause: error },
    )
  }
  if (read.success) return read.data
  throw new UnfitOutputError(
    ended,
    read.error.issues.map(({ path, message }) => ({ path: ['output', ...path].join('.'), message })),
  )
}
