// Which images of a conversation the model is no longer shown. Pure: it follows from the run's record, and
// what it decides is recorded. Images of earlier results go first, the oldest first; then those of the task;
// those of the newest exchange last, because the model has not seen them. If a request would have too many,
// the older half goes at once, so that the requests after it begin alike.
import { type DataOf, imageLimits, type ImagePart, newestExchange, type RunState } from '@beaver/core'
import { hasImages } from './asked-images.ts'

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
export const earlierImages = (run: RunState): LeftOut => leftOut(placed(run).earlier)

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
  const of: { earlier: Placed[]; own: Placed[]; newest: Placed[] } = { earlier: [], own: [], newest: [] }
  for (const [i, message] of messages.entries()) {
    if ((message.role !== 'user' && message.role !== 'tool') || message.images === undefined) continue
    if (message.role === 'user') {
      if (i === historyIndex) of.own.push(...message.images.map((image) => ({ call_id: null, image })))
      continue
    }
    const here = message.images.map((image) => ({ call_id: message.tool_call_id, image }))
    if (i >= from) of.newest.push(...here)
    else of.earlier.push(...here)
  }
  return of
}
