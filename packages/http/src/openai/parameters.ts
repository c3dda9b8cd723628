// The parameters that both interfaces of OpenAI share, besides the conversation. A parameter that changes the
// answer is obeyed or refused (settings.ts has those of the model). An unknown parameter is ignored, because
// OpenAI adds parameters every month.
import type { SubmitTask } from '@beaver/contracts'
import { foreignId, type JsonObject } from '@beaver/core'
import { z } from 'zod'
import { argumentsOf, defaultAgent, isWorkflow } from '../agents.ts'
import type { TaskHost } from '../host.ts'
import type { Asked, RequestParts } from '../route.ts'
import { toolParameters } from './client-tools.ts'
import { type Conversation, invalid } from './conversation.ts'
import { OpenAiError } from './openai-error.ts'
import { settingParameters } from './settings.ts'

export const common = {
  model: z
    .string()
    .min(1)
    .max(256)
    .describe('A model of GET /v1/models: beaver (the default profile), a profile, or workflow:<id>.'),
  stream: z.boolean().nullish().describe('Whether the answer is a stream of events.'),
  user: foreignId
    .nullish()
    .describe('The user for whom the task is. Default: the user of the token, if it has one.'),
  metadata: z
    .record(z.string().max(64), z.string().max(512))
    .nullish()
    .describe('Your own data. The answer to this request has it.'),
  ...toolParameters,
  ...settingParameters,
  top_logprobs: z.int().nullish().describe('Must be 0 or absent.'),
}

/** Whether a parameter asks for something: it is not absent, null, false, 0 or an empty list. */
export const isSet = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  value !== false &&
  value !== 0 &&
  !(Array.isArray(value) && value.length === 0)

/**
 * Refuses parameters.
 *
 * @param reasons why each of these parameters is refused
 * @throws {OpenAiError} `unsupported_parameter` for the first that is set
 */
export function refuseSet(
  body: Readonly<Record<string, unknown>>,
  reasons: Readonly<Record<string, string>>,
): void {
  for (const [name, why] of Object.entries(reasons))
    if (isSet(body[name]))
      throw new OpenAiError(400, 'unsupported_parameter', `"${name}" is not supported: ${why}`, {
        param: name,
      })
}

/** The format of the answer. `type` is `text`, `json_object` or `json_schema`. */
export const format = z.looseObject({
  type: z.string().max(100),
  schema: z.record(z.string(), z.unknown()).nullish(),
  json_schema: z.looseObject({ schema: z.record(z.string(), z.unknown()).nullish() }).nullish(),
})

/**
 * The JSON Schema for the final text that the format requires. `null`: any text is allowed.
 *
 * @throws {OpenAiError} `invalid_value`
 */
export function schemaOf(asked: z.infer<typeof format> | null | undefined, param: string): Schema | null {
  if (asked === undefined || asked === null || asked.type === 'text') return null
  if (asked.type === 'json_object') return { type: 'object' }
  if (asked.type !== 'json_schema')
    throw invalid(`${param}.type`, `${param}.type must be text, json_object or json_schema.`)
  const schema = asked.schema ?? asked.json_schema?.schema
  if (schema === undefined || schema === null) throw invalid(param, `${param} has no schema.`)
  return schema as Schema
}

type Schema = JsonObject

/**
 * The fields of a task that require the form of its answer. A workflow has no root agent that could be asked
 * again, so its text is only checked.
 */
export function formOf(
  schema: Schema | null,
  { workflow }: Pick<SubmitTask, 'workflow'>,
): Pick<SubmitTask, 'output_schema' | 'required_evidence'> {
  if (schema === null) return {}
  return workflow === undefined
    ? { output_schema: schema }
    : { required_evidence: [{ kind: 'output_schema', schema }] }
}

/**
 * The fields of a task that follow from the model and the conversation.
 *
 * @throws {OpenAiError} `model_not_found`, `invalid_value`, and the codes of `ImageFetches`
 */
export async function workOf(
  model: string,
  { task, instructions, history, images }: Conversation,
  {
    host,
    param,
    options,
    signal,
  }: Pick<Asked<RequestParts>, 'host' | 'options' | 'signal'> & { readonly param: string },
): Promise<SubmitTask> {
  if (isWorkflow(model) && images.length > 0)
    throw invalid(param, 'A workflow has no root agent, so it is shown no images. Leave them out.')
  if (isWorkflow(model))
    return { workflow: { name: model, arguments: await mustHaveArguments(model, task, { host, param }) } }
  return {
    task,
    ...(model === defaultAgent ? {} : { profile: model }),
    ...(instructions === null ? {} : { instructions }),
    ...(images.length === 0
      ? {}
      : { images: await options.imageFetches.contents(images, { at: param, signal }) }),
    ...(history.length === 0 ? {} : { history: [...history] }),
  }
}

/** @throws {OpenAiError} `model_not_found`, `invalid_value` */
async function mustHaveArguments(
  model: string,
  text: string,
  { host, param }: { host: TaskHost; param: string },
): Promise<Record<string, unknown>> {
  const read = await argumentsOf(model, text, host)
  if (read.kind === 'read') return read.arguments
  throw read.kind === 'unknown' ? noSuchModel(model) : invalid(param, read.message)
}

export const noSuchModel = (model: string): OpenAiError =>
  new OpenAiError(
    404,
    'model_not_found',
    `There is no model ${JSON.stringify(model)}. GET /v1/models lists those that there are.`,
    { param: 'model' },
  )
