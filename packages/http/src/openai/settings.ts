// How a request of OpenAI's clients sets the model: the temperature, a limit of tokens, the effort of thinking.
// Beaver carries what `model_settings` of a task has, for the model of the root agent. A setting that it cannot
// carry is refused by its name, unless it has OpenAI's default value. Data that tunes nothing (`user`,
// `metadata`, `prompt_cache_key`) and parameters that OpenAI does not have are no settings.
import type { SubmitTask } from '@beaver/contracts'
import { type DataOf, modelSettings } from '@beaver/core'
import { z } from 'zod'
import { isWorkflow } from '../agents.ts'
import { OpenAiError } from './openai-error.ts'

const { temperature, top_p, output_tokens_max, reasoning_effort } = modelSettings.shape

/** The settings that both interfaces have. */
export const settingParameters = {
  temperature: temperature.nullish().describe('From 0 to 2, for the model of the root agent.'),
  top_p: top_p.nullish().describe('From 0 to 1, for the model of the root agent.'),
  presence_penalty: z.number().nullish().describe('Must be 0 or absent.'),
  frequency_penalty: z.number().nullish().describe('Must be 0 or absent.'),
  service_tier: z.string().max(64).nullish().describe('Must be auto, default or absent.'),
}
/** Those of `settingParameters` that are refused, and their default values. */
export const otherSettings = ({
  presence_penalty,
  frequency_penalty,
  service_tier,
}: {
  readonly [name in 'presence_penalty' | 'frequency_penalty' | 'service_tier']?: unknown
}) => [
  { param: 'presence_penalty', value: presence_penalty, may: [0] },
  { param: 'frequency_penalty', value: frequency_penalty, may: [0] },
  { param: 'service_tier', value: service_tier, may: ['auto', 'default'] },
]

/** A limit of the tokens of one answer. */
export const tokensParameter = output_tokens_max
  .nullish()
  .describe('The most tokens of one answer of the model, with its thoughts.')
export const effortParameter = reasoning_effort
  .nullish()
  .describe('How much the model of the root agent thinks, in its own word.')

type Settings = NonNullable<SubmitTask['model_settings']>

/** A setting of a request, and the parameter that has it. */
export interface AskedSetting {
  readonly field: keyof Settings
  readonly param: string
  readonly value: number | string
}

const unsupported = (param: string, why: string): OpenAiError =>
  new OpenAiError(400, 'unsupported_parameter', `"${param}" is not supported: ${why}`, { param })

/**
 * The settings of a request.
 *
 * @param given by parameter, the first of a field counts
 * @param others what is refused unless it is absent or one of these values
 * @throws {OpenAiError} `unsupported_parameter`
 */
export function settingsIn(
  model: string,
  given: readonly { readonly field: keyof Settings; readonly param: string; readonly value: unknown }[],
  others: readonly { readonly param: string; readonly value: unknown; readonly may: readonly unknown[] }[],
): AskedSetting[] {
  for (const { param, value, may } of others)
    if (value !== undefined && value !== null && !may.includes(value))
      throw unsupported(
        param,
        'Beaver has no such setting of a model. Leave it out. "extra_body" of the endpoint can have it for all.',
      )
  const asked = given.filter(
    (each, i): each is AskedSetting =>
      each.value !== undefined &&
      each.value !== null &&
      given.findIndex(({ field, value }) => field === each.field && value !== undefined && value !== null) ===
        i,
  )
  if (!isWorkflow(model)) return asked
  const set = asked.find(
    ({ field, value }) => !(value === 1 && (field === 'temperature' || field === 'top_p')),
  )
  if (set !== undefined)
    throw unsupported(set.param, 'a workflow has no root agent. Its agents say how their models are asked.')
  return []
}

/** The field of a task with these settings. */
export const modelSettingsOf = (asked: readonly AskedSetting[]): Pick<SubmitTask, 'model_settings'> =>
  asked.length === 0
    ? {}
    : { model_settings: Object.fromEntries(asked.map(({ field, value }) => [field, value])) }

/**
 * Checks that a request that goes on with a task asks for no other settings.
 *
 * @throws {OpenAiError} `unsupported_value`
 */
export function mustKeepSettings(
  asked: readonly AskedSetting[],
  { request }: Pick<DataOf<'task_submitted'>, 'request'>,
): void {
  const other = asked.find(({ field, value }) => request.model_settings?.[field] !== value)
  if (other !== undefined)
    throw new OpenAiError(
      400,
      'unsupported_value',
      `A task keeps the settings with which it began, and "${other.param}" was changed. Send the same value, or leave it out.`,
      { param: other.param },
    )
}
