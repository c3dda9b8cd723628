// Decides what can be left out of a conversation that is too long for the model, before anything is
// summarised. The older half of the session's history goes first, then the rest of it, because it is not this
// run's own work; then old results, and long arguments of earlier calls, with the images of these results.
// Results of the newest exchange are never left out, because the model has not used them yet: as the last
// resort they, or the arguments of their calls, are cut, and their images and those of the task go.
import { type ChatMessage, type DataOf, estimateTokens } from '@beaver/core'
import { newestExchange, type RunState } from '@beaver/core/fold'
import { definitionPrefix } from '@beaver/core/graph'
import { imageLimits, type ImagePart } from '@beaver/core/images'
import { isWorkflowTool } from '@beaver/workflows'
import { hasImages } from '../images/image-contents.ts'
import { fairShare } from './fair-share.ts'

const resultCharsMin = 500
/** A newest result that is cut keeps one part in this many, if nobody knows what fits. */
const keptPart = 4
/** A cut to what fits takes at least a tenth away. */
const keptMost = 0.9

/** Returns `null` if nothing is left to leave out. */
export function compaction(
  run: RunState,
  history: readonly ChatMessage[],
): DataOf<'context_compacted'> | null {
  const results = longResults(run)
  const args = longArguments(run)
  const images = earlierImages(run)
  const dropped = droppedNext(run, history)
  if (results.length === 0 && args.length === 0 && images.length === 0 && dropped === run.historyDropped)
    return null
  return {
    results,
    ...(args.length === 0 ? {} : { arguments: args }),
    ...(images.length === 0 ? {} : { images }),
    ...(dropped === run.historyDropped ? {} : { history_messages_dropped: dropped }),
  }
}

type Shortened = DataOf<'context_compacted'>

/** The arguments of more than `resultCharsMin` characters of calls before the newest exchange. */
const longArguments = ({ messages }: RunState): NonNullable<Shortened['arguments']> =>
  argumentsIn(messages.slice(0, newestExchange(messages)))

const argumentsIn = (messages: readonly ChatMessage[]): NonNullable<Shortened['arguments']> =>
  messages
    .flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
    .flatMap(({ id, name, arguments: { length } }) =>
      length > resultCharsMin ? [{ call_id: id, tool_name: name, chars: length }] : [],
    )

/** What the newest exchange may lose: the long arguments of its calls and the long results. */
export interface NewestParts {
  readonly arguments: NonNullable<Shortened['arguments']>
  readonly results: Shortened['results']
  /** The estimated tokens of these results. */
  readonly tokens: number
}

export function newestParts(run: RunState): NewestParts {
  const from = newestExchange(run.messages)
  const newest = run.messages.slice(from)
  const results = resultsIn(run, from, run.messages.length, resultCharsMin * keptPart)
  const long = new Set(results.map(({ call_id }) => call_id))
  const tokens = newest.reduce(
    (sum, message) =>
      message.role === 'tool' && long.has(message.tool_call_id) ? sum + estimateTokens(message.content) : sum,
    0,
  )
  return { arguments: argumentsIn(newest), results, tokens }
}

/**
 * The newest results, each cut to the same length at most. `null`: nothing would become shorter.
 *
 * @param charsMax what they may have together. `null`: nobody knows what fits, so a part of each stays
 */
export function newestCut(
  { results }: Pick<NewestParts, 'results'>,
  charsMax: number | null,
): Shortened['results'] | null {
  const whole = results.reduce((sum, { chars }) => sum + chars, 0)
  // What does not fit by the estimate of one tokenizer may not fit by that of another, so a cut is never
  // small.
  const room = charsMax === null || charsMax > whole * keptMost ? null : Math.max(charsMax, 0)
  const share = room === null ? null : fairShare(results.map(({ chars }) => chars), room) // prettier-ignore
  const cut = results.flatMap((each) => {
    const kept = share === null ? Math.floor(each.chars / keptPart) : Math.max(share, resultCharsMin)
    return kept < each.chars ? [{ ...each, kept_chars: kept }] : []
  })
  return cut.length === 0 ? null : cut
}

const longResults = (run: RunState): DataOf<'context_compacted'>['results'] =>
  resultsIn(run, 0, newestExchange(run.messages), resultCharsMin)

/** The results of more than `charsMin` characters among the messages from one index to another. */
function resultsIn(
  { messages }: RunState,
  from: number,
  to: number,
  charsMin: number,
): DataOf<'context_compacted'>['results'] {
  const names = new Map(
    messages.flatMap((message) =>
      message.role === 'assistant'
        ? (message.tool_calls ?? []).map((call) => [call.id, call.name] as const)
        : [],
    ),
  )
  return messages
    .slice(from, to)
    .flatMap((message) =>
      message.role === 'tool' && message.content.length > charsMin
        ? [
            resultOf(
              message.tool_call_id,
              names.get(message.tool_call_id) ?? 'a tool',
              message.content.length,
            ),
          ]
        : [],
    )
}

function resultOf(
  call_id: string,
  tool_name: string,
  chars: number,
): DataOf<'context_compacted'>['results'][number] {
  const team = isWorkflowTool(tool_name) || tool_name.startsWith(definitionPrefix)
  return { call_id, tool_name, chars, ...(team ? { team } : {}) }
}

/** How many of the oldest messages of the history are dropped next, up to a message of the user. */
function droppedNext({ historyDropped }: RunState, history: readonly ChatMessage[]): number {
  const left = history.length - historyDropped
  if (left <= 0) return historyDropped
  if (historyDropped > 0) return history.length
  const next = history.findIndex((message, index) => index >= left / 2 && message.role === 'user')
  return next === -1 ? history.length : next
}

// Which images of a conversation the model no longer sees: those of earlier results first, the oldest first,
// then those of the task, and last those of the newest exchange, which the model has not seen. If a request
// would have too many, the older half goes at once, so that later requests begin alike.

type LeftOut = NonNullable<DataOf<'context_compacted'>['images']>

interface Placed {
  readonly call_id: string | null
  readonly image: ImagePart
}

/** The images that must go because one request cannot have all. `null`: it can. */
export function surplusImages(run: RunState): LeftOut | null {
  if (!run.messages.some(hasImages)) return null
  const { earlier, own, newest } = placed(run)
  if (fits([...earlier, ...own, ...newest], 1)) return null
  const gone = new Set<Placed>()
  const left = (some: readonly Placed[]): readonly Placed[] => some.filter((each) => !gone.has(each))
  for (const each of earlier) if (!fits(left([...earlier, ...own, ...newest]), 0.5)) gone.add(each)
  for (const each of [...own, ...newest]) if (!fits(left([...earlier, ...own, ...newest]), 1)) gone.add(each)
  return leftOut([...gone])
}

/** The images of earlier results. */
const earlierImages = (run: RunState): LeftOut => leftOut(placed(run).earlier)

/** All images that are left, also those that the model has not seen. */
export function allImages(run: RunState): LeftOut {
  const { earlier, own, newest } = placed(run)
  return leftOut([...earlier, ...own, ...newest])
}

/** The same image in the same place goes once. */
const leftOut = (some: readonly Placed[]): LeftOut => [
  ...new Map(
    some.map(({ call_id, image: { sha256 } }) => [`${sha256} ${call_id}`, { call_id, sha256 }]),
  ).values(),
]

function fits(some: readonly Placed[], part: number): boolean {
  const bytes = some.reduce((sum, { image }) => sum + image.bytes, 0)
  return some.length <= imageLimits.perRequestMax * part && bytes <= imageLimits.totalBytesMax * part
}

function placed({ messages, historyIndex }: RunState): {
  readonly earlier: Placed[]
  readonly own: Placed[]
  readonly newest: Placed[]
} {
  const from = newestExchange(messages)
  const placed: { earlier: Placed[]; own: Placed[]; newest: Placed[] } = { earlier: [], own: [], newest: [] }
  for (const [i, message] of messages.entries()) {
    if ((message.role !== 'user' && message.role !== 'tool') || message.images === undefined) continue
    if (message.role === 'user') {
      if (i === historyIndex) placed.own.push(...message.images.map((image) => ({ call_id: null, image })))
      continue
    }
    const here = message.images.map((image) => ({ call_id: message.tool_call_id, image }))
    if (i >= from) placed.newest.push(...here)
    else placed.earlier.push(...here)
  }
  return placed
}
