// The images of a request to a model: their content by SHA-256, from the host. A thread keeps what its loops
// asked for last, at most `heldBytesMax`. Content that does not match its SHA-256 is not shown. If an
// operator removed it, the model reads that it is gone.
import type { ChatMessage } from '@beaver/core'
import { type ImagePart, imageLimits } from '@beaver/core/images'
import { hash } from 'node:crypto'
import type { LoopHost } from '../loop/loop-spec.ts'

/** Enough for the largest request twice. */
const heldBytesMax = 2 * imageLimits.totalBytesMax

const held = new Map<string, Uint8Array>()
let heldBytes = 0

/** Whether a message shows images. */
export const hasImages = (message: ChatMessage): boolean =>
  (message.role === 'user' || message.role === 'tool') && message.images !== undefined

/** The images of messages, in order. */
const imagesOf = (messages: readonly ChatMessage[]): readonly ImagePart[] =>
  messages.flatMap((message) =>
    message.role === 'user' || message.role === 'tool' ? (message.images ?? []) : [],
  )

/** The content of the images of a request. `undefined`: it has none. */
export async function contentsOf(
  messages: readonly ChatMessage[],
  host: Pick<LoopHost, 'loadBlob'>,
): Promise<ReadonlyMap<string, Uint8Array> | undefined> {
  if (!messages.some(hasImages)) return undefined
  const wanted = new Set(imagesOf(messages).map(({ sha256 }) => sha256))
  const contents = new Map<string, Uint8Array>()
  for (const sha256 of wanted) {
    const content = held.get(sha256) ?? (await load(sha256, host))
    if (content === null) continue
    keepContent(sha256, content)
    contents.set(sha256, content)
  }
  return contents
}

/** Keeps content that the next request asks for. */
export function keepContent(sha256: string, content: Uint8Array): void {
  if (held.delete(sha256)) heldBytes -= content.length
  held.set(sha256, content)
  heldBytes += content.length
  for (const [oldest, { length }] of held) {
    if (heldBytes <= heldBytesMax) return
    held.delete(oldest)
    heldBytes -= length
  }
}

async function load(sha256: string, { loadBlob }: Pick<LoopHost, 'loadBlob'>): Promise<Uint8Array | null> {
  const content = await loadBlob(sha256)
  return content === null || hash('sha256', content) !== sha256 ? null : content
}
