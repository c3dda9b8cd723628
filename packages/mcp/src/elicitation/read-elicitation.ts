// Turns what an MCP server asks in the middle of a call into a question to the person, and the answer into
// what the protocol says. It asks nobody. The question names the server. What the server says is marked as
// its words, and is cut to a bound. One elicitation is one question: options if there is one thing to choose,
// a free text if any text will do, and a form otherwise. A URL is shown whole, with its host first. Only http
// and https are shown, and no URL with a name or password in it. Nothing here opens one. What the server gets
// fits its schema.
import {
  answerFault,
  type JsonObject,
  type JsonValue,
  type Question,
  type QuestionAnswer,
  questionBounds,
  questionFault,
} from '@beaver/core'
import { plainWords } from './plain-words.ts'
import { type FormField, readForm } from './read-form.ts'

/** The answer of the protocol. */
export interface ElicitationAnswer {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content?: JsonObject
}

export type ElicitationRead =
  /** `answerOf`: the answer of the protocol; `null`: the person's answer does not fit. */
  | {
      readonly kind: 'question'
      readonly question: Question
      answerOf(answer: QuestionAnswer): ElicitationAnswer | null
    }
  /** `why` is a sentence. */
  | { readonly kind: 'refused'; readonly why: string }

const wordsCharsMax = 1_500
const urlCharsMax = 2_000
const defaultCharsMax = 200
const [yes, no, go, done] = ['yes', 'no', 'continue', 'done'] as const
const noSecrets =
  'Do not answer with a password, a key or another secret: the answer goes to the server and into the journal.'

/** @param server its name in the configuration @param params those of `elicitation/create` */
export function readElicitation(server: string, params: unknown): ElicitationRead {
  const { mode = 'form', message, requestedSchema, url } = (params ?? {}) as Readonly<Record<string, unknown>>
  if (typeof message !== 'string')
    return refused(`The MCP server ${server} asked something without a message.`)
  if (mode === 'url') return readUrl(server, words(message), url)
  if (mode !== 'form') return refused(`The MCP server ${server} asked in a mode that Beaver does not know.`)
  const form = readForm(requestedSchema)
  if (form.kind === 'fault')
    return refused(
      `A question of the MCP server ${server} was not shown to anybody, because its form ${form.why}.`,
    )
  return checked(
    server,
    form.fields.length <= 1
      ? single(server, words(message), form.fields[0])
      : whole(server, words(message), form.fields),
  )
}

const refused = (why: string): ElicitationRead => ({ kind: 'refused', why })
type Asked = Extract<ElicitationRead, { kind: 'question' }>

const words = (text: string): string => plainWords(text, wordsCharsMax)
const says = (server: string, what: string): string =>
  `The MCP server ${server} asks${what === '' ? '.' : `: "${what}"`}`

function checked(server: string, asked: Asked): ElicitationRead {
  const fault = questionFault(asked.question)
  return fault === null
    ? asked
    : refused(`A question of the MCP server ${server} was not shown to anybody. ${fault}`)
}

function readUrl(server: string, reason: string, url: unknown): ElicitationRead {
  const read = typeof url === 'string' && url.length <= urlCharsMax && URL.canParse(url) ? new URL(url) : null
  if (read === null)
    return refused(
      `The MCP server ${server} asked to open something that is no URL of at most ${urlCharsMax} characters.`,
    )
  if (read.protocol !== 'https:' && read.protocol !== 'http:')
    return refused(
      `The MCP server ${server} asked to open a URL of the scheme ${plainWords(read.protocol, 40)} Beaver shows only http and https.`,
    )
  if (read.username !== '' || read.password !== '')
    return refused(
      `The MCP server ${server} asked to open a URL at ${read.host} with a name or a password in it, which hides where it leads.`,
    )
  const lines = [
    `The MCP server ${server} asks you to open a page at the host ${read.host}.`,
    `Its reason: "${reason}"`,
    `The page: ${read.href}`,
    `Beaver does not open it. Open it in a browser if you trust this host, and answer "${done}" then; otherwise decline.`,
  ]
  return checked(server, {
    kind: 'question',
    question: { message: lines.join('\n'), options: [done] },
    answerOf: ({ action }) => ({ action }),
  })
}

/** What is asked about one field, without a form if that is possible. */
function single(server: string, message: string, field: FormField | undefined): Asked {
  if (field === undefined) return options(says(server, message), new Map([[go, {}]]))
  const { name, schema, choices, required } = field
  const asked = [says(server, message), label(field)].filter((part) => part !== '').join('\n')
  const one = (value: JsonValue): JsonObject => ({ [name]: value })
  if (schema['type'] === 'boolean') return options(asked, new Map([[yes, one(true)], [no, one(false)]])) // prettier-ignore
  if (choices !== null && mayBeOptions(choices)) {
    if (schema['type'] === 'string')
      return options(asked, new Map([...choices].map(([value, title]) => [title, one(value)])))
    if (schema['minItems'] === undefined && schema['maxItems'] === undefined)
      return several(asked, name, choices)
  }
  const isFree =
    required && Object.keys(schema).every((key) => key === 'type' || key === 'title' || key === 'description')
  if (!isFree || schema['type'] !== 'string') return whole(server, message, [field])
  return {
    kind: 'question',
    question: { message: `${asked}\n${noSecrets}`, free_text: true },
    answerOf: (answer) =>
      fitting(answer, answer.answers?.[0] === undefined ? undefined : one(answer.answers[0])),
  }
}

function label({ name, title, description, default: given }: FormField): string {
  const shown = words(title === name ? name : `${title} (${name})`)
  const parts = [
    description === null ? shown : `${shown}: ${words(description)}`,
    given === undefined ? '' : `Its default: ${plainWords(JSON.stringify(given), defaultCharsMax)}.`,
  ]
  return parts.filter((part) => part !== '').join(' ')
}

const mayBeOptions = (choices: ReadonlyMap<string, string>): boolean =>
  choices.size <= questionBounds.options &&
  new Set(choices.values()).size === choices.size &&
  [...choices.values()].every((title) => title.trim() !== '')

function options(message: string, contents: ReadonlyMap<string, JsonObject>): Asked {
  return {
    kind: 'question',
    question: { message, options: [...contents.keys()] },
    answerOf: (answer) => fitting(answer, contents.get(answer.answers?.[0] ?? '')),
  }
}

function several(message: string, name: string, choices: ReadonlyMap<string, string>): Asked {
  const values = new Map([...choices].map(([value, title]) => [title, value]))
  return {
    kind: 'question',
    question: { message, options: [...values.keys()], several: true },
    answerOf: (answer) => {
      const chosen = (answer.answers ?? []).map((title) => values.get(title))
      return fitting(answer, chosen.includes(undefined) ? undefined : { [name]: chosen as string[] })
    },
  }
}

function whole(server: string, message: string, fields: readonly FormField[]): Asked {
  const form = {
    type: 'object',
    properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
    required: fields.filter(({ required }) => required).map(({ name }) => name),
  }
  const takesText = fields.some(({ schema, choices }) => schema['type'] === 'string' && choices === null)
  const question = { message: `${says(server, message)}${takesText ? `\n${noSecrets}` : ''}`, form }
  const defaults = Object.fromEntries(
    fields.flatMap(({ name, default: given }) => (given === undefined ? [] : [[name, given]])),
  )
  return {
    kind: 'question',
    question,
    answerOf: (answer) => {
      const content = { ...defaults, ...answer.content }
      return fitting(
        answer,
        answerFault(question, { action: 'accept', content }) === null ? content : undefined,
      )
    },
  }
}

/** @param content what an accepted answer has; `undefined`: it does not fit */
function fitting({ action }: QuestionAnswer, content: JsonObject | undefined): ElicitationAnswer | null {
  if (action !== 'accept') return { action }
  return content === undefined ? null : { action, content }
}
