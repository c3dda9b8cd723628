// What the body of a mail says. Some mails are built so that reading them takes minutes, so it happens in a
// thread that has a deadline.
import { Worker } from 'node:worker_threads'
import type { Clock } from '@beaver/core'
import { PortCalls } from '@beaver/core/port-calls'

/** What the thread does. It is number 0 of its port. */
export interface MailReader {
  /** @param own the own address */
  read(source: Uint8Array, own: string): Promise<MailContent>
}

export interface MailContent {
  readonly text: string
  readonly subject: string
  /** The names of what was not read, at most so many as a message tells. */
  readonly attachments: readonly string[]
  readonly attachmentsCount: number
  /** As the mail has it. */
  readonly date: string
  /** Whether the mail names the own address in `To` or `Cc`. */
  readonly isToOwn: boolean
}

const entry = new URL(
  import.meta.url.endsWith('.ts') ? './mail-content-thread.ts' : './mail-content-thread.js',
  import.meta.url,
)
const readMsMax = 30_000
const heapMbMax = 256

/** @returns `null` if the mail cannot be read in time @throws the reason of `signal` */
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
  new PortCalls(worker).remote<MailReader>(0, {}).read(source, own).then(resolve, end)
  worker.once('error', end)
  worker.once('exit', end)
  const content = await promise
  late.cancel()
  signal.removeEventListener('abort', end)
  await worker.terminate()
  signal.throwIfAborted()
  return content
}
