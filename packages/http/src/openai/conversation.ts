// Turns the messages of a client into a task. The last message of the user is the task, the messages before
// it are its history, and messages of the system and the developer are instructions.
// - Agents read text, and they see the images of the last message. Any other part is refused, because an
//   answer that ignored it would look as if the agent had seen it.
// - Earlier calls of the client's tools and their results are history, too, as a text. call-answers.ts deals
//   with answers to calls that wait.
import { z } from 'zod'
import { OpenAiError } from './openai-error.ts'
import {
  earlierImage,
  type ImageAddress,
  imageOfPart,
  type ImageOrigins,
  mustFitTogether,
  type SentImage,
} from './part-images.ts'

const part = z.looseObject({
  type: z.string().max(100),
  text: z.string().optional(),
  refusal: z.string().optional(),
})

/** A text, or its parts. */
export const content = z
  .union([z.string(), z.array(part).max(1_000)])
  .describe(
    'A text, or parts: texts, and images (image_url, input_image) as data URLs or at an allowed origin. Only those of the last message are shown.',
  )
export type Content = z.infer<typeof content>

/**
 * A message of a client. `at`: its place in the request, such as `messages[0]`. If the whole input is one
 * text, this is the name of the input.
 */
export interface Turn {
  readonly role: string
  readonly content: Content | null | undefined
  readonly at: string
  /** The calls of the client's tools in a message of the assistant. */
  readonly calls?: readonly EarlierCall[]
  /** The id of the call to which this message is the answer. */
  readonly answers?: string
}

/** A call of a tool of the client, as its conversation has it. */
export interface EarlierCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

export interface Conversation {
  readonly task: string
  /** `null`: there are none. */
  readonly instructions: string | null
  /** The images of the last message. */
  readonly images: readonly (SentImage | ImageAddress)[]
  readonly history: readonly { readonly role: 'user' | 'assistant'; readonly content: string }[]
}

export const messagesMax = 2_000
const instructionsCharsMax = 100_000

interface ConversationOf {
  /** Instructions that are not in a message. `null`: there are none. */
  readonly ownInstructions: string | null
  readonly param: string
  readonly origins: ImageOrigins
}

/** @throws {OpenAiError} */
export function conversationOf(
  turns: readonly Turn[],
  { ownInstructions, param, origins }: ConversationOf,
): Conversation {
  const lastAt = turns.findLast(({ role }) => role === 'user')?.at
  const calls = new Map(turns.flatMap(({ calls = [] }) => calls.map((call) => [call.id, call])))
  const messages = turns.map((turn) => {
    const { role, content, at, answers } = turn
    if (answers !== undefined)
      return { role: 'assistant' as const, text: resultText(calls.get(answers), answerText(turn)), at }
    return { role: roleOf(role, at), text: textOf(content, at, { shown: at === lastAt, origins }), at }
  })
  const spoken = messages.filter(({ role }) => role !== 'system')
  const last = spoken.at(-1)
  if (last === undefined)
    throw invalid(param, `The request has no message of the user. Send one in "${param}".`)
  if (last.role !== 'user')
    throw invalid(
      last.at,
      `The last message must be one of the user: it is the task. ${last.at} is one of the assistant.`,
    )
  if (last.text.trim() === '')
    throw invalid(last.at === param ? param : `${last.at}.content`, `${last.at} is empty. Say what to do.`)
  const system = [
    ownInstructions ?? '',
    ...messages.filter(({ role }) => role === 'system').map(({ text }) => text),
  ].filter((text) => text.trim() !== '')
  const instructions = system.join('\n\n')
  if (instructions.length > instructionsCharsMax)
    throw invalid(
      param,
      `The instructions have ${instructions.length} characters. At most ${instructionsCharsMax} are read.`,
    )
  return {
    task: last.text,
    images: imagesOf(turns[messages.indexOf(last)], origins),
    instructions: instructions === '' ? null : instructions,
    history: spoken
      .slice(0, -1)
      .flatMap(({ role, text }) =>
        text === '' ? [] : [{ role: role as 'user' | 'assistant', content: text }],
      ),
  }
}

function roleOf(role: string, at: string): 'user' | 'assistant' | 'system' {
  if (role === 'user' || role === 'assistant' || role === 'system') return role
  if (role === 'developer') return 'system'
  if (role === 'function')
    throw new OpenAiError(
      400,
      'unsupported_value',
      `${at} has the role "function", which was replaced by "tool". Send the answer of a call as a message with the role "tool" and its "tool_call_id".`,
      {
        param: `${at}.role`,
      },
    )
  throw invalid(
    `${at}.role`,
    `${at}.role is ${JSON.stringify(role)}. It must be user, assistant, system, developer or tool.`,
  )
}

/** How an earlier call of a tool of the client is told to an agent that did not make it. */
const resultText = (call: EarlierCall | undefined, result: string): string =>
  `[${call === undefined ? 'A tool of the client' : `${call.name}(${call.arguments})`} returned: ${result}]`

/** The text of an answer to a call. @throws {OpenAiError} for a part that is no text */
export function answerText({ content, at }: Pick<Turn, 'content' | 'at'>): string {
  if (typeof content === 'string') return content
  const texts = (content ?? []).map(({ type, text }, i) => {
    if (textParts.has(type) && text !== undefined) return text
    throw new OpenAiError(
      400,
      'unsupported_value',
      `The answer of a call is a text, and ${at} has the part ${JSON.stringify(type)}. Say in words what it shows, or send an image in a new message of the user.`,
      { param: `${at}.content[${i}].type` },
    )
  })
  return texts.join('\n')
}

const textParts: ReadonlySet<string> = new Set(['text', 'input_text', 'output_text', 'refusal'])

/**
 * The text of a message. `shown`: whether the agent gets the images of the message. Otherwise a text replaces
 * each image.
 */
function textOf(
  content: Turn['content'],
  at: string,
  { shown, origins }: { readonly shown: boolean; readonly origins: ImageOrigins },
): string {
  if (typeof content === 'string') return content
  const texts = (content ?? []).flatMap((each, i) => {
    const { type, text, refusal } = each
    if (imageOfPart(each, `${at}.content[${i}]`, origins) !== null) return shown ? [] : [earlierImage]
    if (!textParts.has(type))
      throw new OpenAiError(
        400,
        'unsupported_value',
        `Beaver's agents read texts and see images. The part ${JSON.stringify(type)} is neither. Leave it out.`,
        {
          param: `${at}.content[${i}].type`,
        },
      )
    return text ?? refusal ?? ''
  })
  return texts.join('\n')
}

function imagesOf(turn: Turn | undefined, origins: ImageOrigins): Conversation['images'] {
  if (turn === undefined || typeof turn.content === 'string') return []
  const images = (turn.content ?? []).flatMap(
    (part, i) => imageOfPart(part, `${turn.at}.content[${i}]`, origins) ?? [],
  )
  mustFitTogether(images, turn.at)
  return images
}

/** The error for a value that is not valid. */
export const invalid = (param: string, message: string): OpenAiError =>
  new OpenAiError(400, 'invalid_value', message, { param })
