// What a team needs of a server of models, and how each is judged by what came back. Pure. `failed` means
// that Beaver would read the server wrongly or could not work with it. What a server does not have and Beaver
// does without is `unsupported`. What could not be seen is `unasked`. A verdict says what was seen, so that a
// person can judge it, too.
import { finishMeaning } from '@beaver/agent'
import { type ToolCall, visible } from '@beaver/core'
import { schemaMismatch } from '@beaver/core/evidence'
import { maskSecrets } from '@beaver/core/secrets'
import type { Answered, Heard, Refused } from './heard.ts'
import type { Exchange } from './recorder.ts'
import {
  calledBefore,
  capitals,
  cities,
  degrees,
  type HeardSoFar,
  lengthTokensMax,
  overflowWords,
  type StepName,
  type StepOptions,
} from './steps.ts'

export interface Verdict {
  readonly result: 'passed' | 'failed' | 'unsupported' | 'unasked'
  readonly seen: string
}

/** What a judgement may look at besides the answer. */
export interface Evidence {
  readonly heard: HeardSoFar
  /** The requests of the step, and their answers as the server wrote them. */
  readonly exchanges: readonly Exchange[]
  readonly options: StepOptions
}

export interface Probe {
  readonly name: string
  readonly step: StepName
  /** Whether no team works without it. */
  readonly needed: boolean
  readonly judge: (answered: Answered, evidence: Evidence) => Verdict
  /** Default: it failed. */
  readonly judgeFailure?: (refused: Refused, evidence: Evidence) => Verdict
}

const passed = (seen: string): Verdict => ({ result: 'passed', seen })
const failed = (seen: string): Verdict => ({ result: 'failed', seen })
const unsupported = (seen: string): Verdict => ({ result: 'unsupported', seen })
const unasked = (seen: string): Verdict => ({ result: 'unasked', seen })

export const probes: readonly Probe[] = [
  { name: 'plain answer', step: 'plain', needed: true, judge: ended((answered) => says(answered, 'ready')) },
  { name: 'streamed answer', step: 'streamed', needed: true, judge: ended(judgeStream) },
  { name: 'usage', step: 'plain', needed: false, judge: judgeUsage, judgeFailure: noAnswer },
  { name: 'usage of a stream', step: 'streamed', needed: false, judge: judgeUsage, judgeFailure: noAnswer },
  { name: 'tool call', step: 'call', needed: true, judge: ended(judgeCall) },
  { name: 'parallel calls', step: 'calls', needed: false, judge: ended(judgeCalls) },
  { name: 'results of tools', step: 'results', needed: true, judge: ended(judgeResults) },
  { name: 'streamed calls', step: 'streamed_calls', needed: true, judge: ended(judgeStreamedCalls) },
  { name: 'structured answer', step: 'structured', needed: false, judge: ended(judgeStructured) },
  { name: 'image', step: 'image', needed: false, judge: ended(judgeImage) },
  {
    name: 'bound of an answer',
    step: 'length',
    needed: false,
    judge: judgeLength,
    judgeFailure: refusesBound,
  },
  {
    name: 'unknown model',
    step: 'unknown_model',
    needed: false,
    judge: answersAnyway,
    judgeFailure: refusesModel,
  },
  { name: 'overflow', step: 'overflow', needed: false, judge: judgeNoOverflow, judgeFailure: judgeOverflow },
]

export function verdictOf(probe: Probe, heard: Heard, evidence: Evidence): Verdict {
  switch (heard.kind) {
    case 'unasked':
      return unasked(heard.why)
    case 'failure':
      return probe.judgeFailure?.(heard, evidence) ?? failed(failureIn(heard))
    case 'answer':
      return probe.judge(heard, evidence)
    default:
      return heard satisfies never
  }
}

/** The class, the status, and what the server said or else what Beaver says. */
function failureIn({ class: failureClass, status, message }: Refused): string {
  const words = visible(
    message.slice(message.indexOf(serverSays) === -1 ? 0 : message.indexOf(serverSays) + serverSays.length),
  )
  return `${failureClass}${status === null ? '' : `, HTTP ${status}`}: ${words}`
}

/** Before the words of the server in a failure of Beaver's providers. */
const serverSays = 'It says: '

const charsShown = 48
/**
 * A text of the server, short enough for a line. Secrets are removed first, because half a secret is still
 * one.
 */
const quoted = (text: string | null): string => {
  const line = visible(
    maskSecrets(text ?? '')
      .replace(/\s+/g, ' ')
      .trim(),
  )
  return `"${line.length > charsShown ? `${line.slice(0, charsShown).toWellFormed()}…` : line}"`
}

/** Judges an answer only if its end is one that Beaver takes for an end. */
function ended(judge: Probe['judge']): Probe['judge'] {
  return (answered, evidence) => {
    const { finishReason } = answered.answer
    const meaning = finishMeaning(finishReason)
    if (meaning === 'complete' || meaning === 'calls') return judge(answered, evidence)
    if (meaning === 'cut')
      return failed(
        'the answer reached the bound of its tokens; a model that thinks needs a higher --output-tokens-max',
      )
    return failed(`the answer ends with the finish reason ${quoted(finishReason)}, which means: ${meaning}`)
  }
}

function says({ answer: { content } }: Answered, word: string): Verdict {
  return content?.toLowerCase().includes(word) === true
    ? passed(quoted(content))
    : failed(`does not say "${word}", but ${quoted(content)}`)
}

function judgeStream(answered: Answered): Verdict {
  const { answer, pieces } = answered
  if (pieces.join('') !== answer.content)
    return failed(`the pieces ${quoted(pieces.join(''))} are not the answer ${quoted(answer.content)}`)
  const said = says(answered, '10')
  return said.result === 'passed'
    ? passed(
        pieces.length === 1 ? 'in one piece: nothing is seen before the end' : `in ${pieces.length} pieces`,
      )
    : said
}

/** The names that servers have for parts of a usage. */
const partNames = /"((?:prompt_)?cache[\w]*_tokens|cached_tokens|reasoning_tokens|audio_tokens)"/g

function judgeUsage({ answer: { usage } }: Answered, { exchanges }: Evidence): Verdict {
  if (usage.unknown_calls !== undefined)
    return unsupported('the server counts no tokens, so costs are unknown')
  const said = `${usage.input_tokens} in, ${usage.output_tokens} out`
  if (usage.input_tokens === 0 || usage.output_tokens === 0) return failed(`counts ${said}, which cannot be`)
  const names = new Set([...(exchanges.at(-1)?.body ?? '').matchAll(partNames)].map(([, name = '']) => name))
  return passed(names.size === 0 ? said : `${said}; names ${[...names].toSorted().join(', ')}`)
}

function noAnswer(): Verdict {
  return unasked('there is no answer to count')
}

/** What is wrong with a call for one of the cities; `null` if nothing is. */
function faultOf({ name, arguments: args }: ToolCall, asked: readonly string[]): string | null {
  if (name !== 'get_weather') return `calls ${quoted(name)}`
  const city = cityIn(args)
  return city !== null && asked.includes(city) ? null : `calls with the arguments ${quoted(args)}`
}

function cityIn(args: string): string | null {
  try {
    const { city } = JSON.parse(args) as { city?: unknown }
    return typeof city === 'string' ? (cities.find((name) => city.includes(name)) ?? city) : null
  } catch {
    return null
  }
}

function judgeCall({ answer: { toolCalls, content } }: Answered): Verdict {
  if (toolCalls.length === 0) return failed(`calls no tool, but says ${quoted(content)}`)
  const fault = faultIn(toolCalls, ['Paris'])
  if (fault !== null) return failed(fault)
  return toolCalls.length === 1
    ? passed('get_weather for Paris')
    : failed(`makes ${toolCalls.length} calls where one was asked for`)
}

/** What is wrong with the first wrong call; `null` if none is. */
const faultIn = (calls: readonly ToolCall[], asked: readonly string[]): string | null =>
  calls.map((call) => faultOf(call, asked)).find((each) => each !== null) ?? null

function judgeCalls({ answer: { toolCalls, content } }: Answered): Verdict {
  if (toolCalls.length === 0) return failed(`calls no tool, but says ${quoted(content)}`)
  const fault = faultIn(toolCalls, cities)
  if (fault !== null) return failed(fault)
  const missing = cities.filter((city) => toolCalls.every((call) => cityIn(call.arguments) !== city))
  if (missing.length === 0) return passed(`${toolCalls.length} calls in one answer`)
  return toolCalls.length === 1
    ? unsupported('one call in an answer; Beaver asks again for the next')
    : failed(`makes no call for ${missing.join(', ')}`)
}

/** A model that makes one call in an answer can be worked with. */
function judgeStreamedCalls(answered: Answered): Verdict {
  const verdict = judgeCalls(answered)
  return verdict.result === 'unsupported' ? passed('one call in a stream') : verdict
}

function judgeResults({ answer: { content, toolCalls } }: Answered, { heard }: Evidence): Verdict {
  const told = (calledBefore(heard)?.calls ?? []).map((call) => cityIn(call.arguments))
  const next = toolCalls.map((call) => cityIn(call.arguments))
  if (next.length > 0) {
    const again = next.some((city) => told.includes(city))
    return again
      ? failed('calls the tool again, as if it had no result')
      : passed('goes on with the next call')
  }
  const missing = cities.filter(
    (city) => told.includes(city) && content?.includes(String(degrees[city])) !== true,
  )
  if (missing.length > 0)
    return failed(`does not say what the tool returned for ${missing.join(', ')}, but ${quoted(content)}`)
  return passed(`says what ${told.length === 1 ? 'the tool' : `the ${told.length} calls`} returned`)
}

const formNames = {
  json_schema: 'by its schema',
  json_object: 'by the JSON mode',
  none: 'in words alone',
} as const

function judgeStructured({ answer: { content } }: Answered, { exchanges }: Evidence): Verdict {
  const sent = exchanges.at(-1)?.request ?? ''
  const level = sent.includes('"json_schema"')
    ? 'json_schema'
    : sent.includes('"json_object"')
      ? 'json_object'
      : 'none'
  const mismatch = schemaMismatch(capitals, content ?? '')
  if (mismatch === null) return passed(`JSON of the schema, asked ${formNames[level]}`)
  return unsupported(
    `asked ${formNames[level]}, the answer ${quoted(content)} ${mismatch.startsWith('is not JSON') ? 'is not JSON' : mismatch}`,
  )
}

function judgeImage({ answer: { content } }: Answered, { exchanges }: Evidence): Verdict {
  const isSent = /"(image_url|input_image)"/.test(exchanges.at(-1)?.request ?? '')
  if (!isSent) return unsupported('takes no images; Beaver sends a text in place of each')
  if (content !== null && /\bred\b/i.test(content)) return passed(`sees the colour: ${quoted(content)}`)
  return unsupported(`takes the image and does not see it, but says ${quoted(content)}: set "images": false`)
}

function judgeLength({ answer: { content, finishReason, usage } }: Answered): Verdict {
  const meaning = finishMeaning(finishReason)
  if (meaning === 'cut')
    return passed(`ends with ${quoted(finishReason)} after ${usage.output_tokens} tokens`)
  if (meaning !== 'complete')
    return failed(`the answer ends with the finish reason ${quoted(finishReason)}, which means: ${meaning}`)
  if (content?.includes('200') === true) return unsupported(`ignores the bound of ${lengthTokensMax} tokens`)
  if (usage.output_tokens < lengthTokensMax)
    return unasked(`the model ended by itself after ${usage.output_tokens} tokens`)
  return failed(
    `the answer is cut, and its end says ${quoted(finishReason)}: Beaver takes it for a whole one`,
  )
}

function refusesBound(refused: Refused): Verdict {
  return refused.class === 'provider_refused'
    ? unsupported(`refuses a bound of ${lengthTokensMax} tokens: ${failureIn(refused)}`)
    : failed(failureIn(refused))
}

function answersAnyway({ answer: { model } }: Answered): Verdict {
  return unsupported(`answers under any name of a model, and calls itself ${quoted(model)}`)
}

function refusesModel(refused: Refused): Verdict {
  return refused.class === 'provider_refused'
    ? passed(failureIn(refused))
    : failed(`Beaver would ask again: ${failureIn(refused)}`)
}

function judgeOverflow(refused: Refused): Verdict {
  if (refused.class === 'context_overflow') return passed(failureIn(refused))
  if (refused.class === 'provider_timeout')
    return unasked(`no answer in time to a text that may be too long: ${failureIn(refused)}`)
  return failed(`does not read as too long: ${failureIn(refused)}`)
}

/** A server that counts fewer tokens than this part of the words has left some out. */
const partCounted = 0.8

function judgeNoOverflow({ answer: { finishReason, usage } }: Answered, { options }: Evidence): Verdict {
  const words = Number(overflowWords(options))
  if (finishMeaning(finishReason) === 'window')
    return passed(`ends with the finish reason ${quoted(finishReason)}`)
  const counted = usage.unknown_calls === undefined ? usage.input_tokens : null
  const cuts = `set "context_tokens", because the server says nothing and cuts the conversation itself`
  if (counted !== null && counted < words * partCounted)
    return unsupported(`counts ${counted} tokens of at least ${words}: ${cuts}`)
  if (options.contextTokens !== null)
    return unsupported(
      `answers a text of at least ${words} tokens, more than --context-tokens ${options.contextTokens}`,
    )
  return unasked(
    `takes a text of ${words} tokens; --context-tokens and --overflow-tokens-max allow a longer one`,
  )
}
