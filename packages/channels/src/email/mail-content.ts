// Reads the body of a mail. Some bodies are built so that reading them takes minutes, so a thread with a
// deadline reads them.
import { Worker } from 'node:worker_threads'
import type { Clock } from '@beaver/core'
import { PortCalls } from '@beaver/core/port-calls'

/** The object of the thread, with the number 0 on its port. */
export interface BodyReader {
  /** @param own the address of the channel */
  read(source: Uint8Array, own: string): Promise<MailContent>
}

export interface MailContent {
  readonly text: string
  readonly subject: string
  /** The names of the attachments, at most as many as a message names. */
  readonly attachments: readonly string[]
  readonly attachmentsCount: number
  /** The text of the header `Date`. */
  readonly date: string
  /** Whether the mail has the address of the channel in `To` or `Cc`. */
  readonly isToOwn: boolean
}

const entry = new URL(
  import.meta.url.endsWith('.ts') ? './mail-content-thread.ts' : './mail-content-thread.js',
  import.meta.url,
)
const readMsMax = 30_000
const heapMbMax = 256

/**
 * Reads the body of a mail in a thread of its own.
 *
 * @returns `null` if it cannot be read, or not within 30 s
 * @throws the reason of `signal` if it aborts
 */
export async function contentOf(
  { source, own }: { readonly source: Uint8Array; readonly own: string },
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<MailContent | null> {
  signal.throwIfAborted()
  const { promise, resolve } = Promise.withResolvers<MailContent | null>()
  const worker = new Worker(entry, {
    name: 'mail',
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
  })
  const end = (): void => resolve(null)
  const late = clock.after(readMsMax, end)
  signal.addEventListener('abort', end, { once: true })
  new PortCalls(worker).remote<BodyReader>(0, {}).read(source, own).then(resolve, end)
  worker.once('error', end)
  worker.once('exit', end)
  const content = await promise
  late.cancel()
  signal.removeEventListener('abort', end)
  await worker.terminate()
  signal.throwIfAborted()
  return content
}
