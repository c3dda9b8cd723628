// Link: one live connection to one MCP server, as a child or over HTTP, in the server's era of the protocol.
// A failed connection leaves nothing behind. A server over HTTP that forgot the session answers 404 and has
// done nothing; then the connection begins a new session.
import { type Clock, messageOf } from '@beaver/core'
import {
  type AuthProvider,
  Client,
  type ContentBlock,
  type ElicitResult,
  InsufficientScopeError,
  type JSONRPCMessage,
  SdkHttpError,
  specTypeSchemas,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
import type { CallInputs } from '../elicitation/call-inputs.ts'
import type { ElicitationAnswer } from '../elicitation/read-elicitation.ts'
import { LoginNeeded } from '../oauth/oauth-access.ts'
import { type ChildTransport, childTransport, messageBytesMax } from './child-transport.ts'
import type { Address } from './server-spec.ts'

export interface Link {
  /** The client of the current session. */
  readonly client: Client
  readonly pid: number | null
  /** The server's own name and version, as `name version`. */
  readonly server: string | null
  /** Whether the server knows only the handshake of 2025, so that the next connection need not ask. */
  readonly legacy: boolean
  readonly calls: OpenCalls
  /** Resolves with the reason when either side has ended the connection. */
  readonly gone: Promise<string>
  /**
   * Begins a new session, once for all callers. Calls that are under way in the old session go on there, and
   * the last of them closes its client.
   *
   * @param stale the client of the session that the server forgot
   * @param ready lists what the server has now, before the new session is used
   * @throws {LinkError}, and what `ready` throws
   */
  renew(stale: Client, ready: (client: Client) => Promise<void>): Promise<void>
  /** Ends the connection. @param reason a clause such as "it does not answer" */
  drop(reason: string): Promise<void>
}

export interface LinkOptions {
  readonly clock: Clock
  readonly groups: Set<number>
  /** Our version, for the server. */
  readonly version: string
  readonly startMsMax: number
  readonly leaveMsMax?: number
  /** `legacy`: connect without asking for the era, because some programs end at this question. */
  readonly mode: 'auto' | 'legacy'
  readonly signal: AbortSignal
  /** Gives requests over HTTP their OAuth token. `null`: they have none. */
  readonly access?: AuthProvider | null
  /** Whether the server may ask the person of a call. */
  readonly elicitation: boolean
  onListChanged(): void
}

/** `asked`: the program seems to have ended because it was asked for its era. */
export class LinkError extends Error {
  readonly asked: boolean
  constructor(message: string, asked: boolean, options: { cause?: unknown } = {}) {
    super(message, options)
    this.name = 'LinkError'
    this.asked = asked
  }
}

/** Fields that are left out get their default. */
const elicitationCapability = { elicitation: { form: { applyDefaults: true }, url: {} } }
const listChangedMs = 100
const stderrCharsTold = 400
const reconnects = {
  initialReconnectionDelay: 1_000,
  maxReconnectionDelay: 30_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 5,
}

/** Ends within `startMsMax`. @throws {LinkError}; {LoginNeeded}; {InsufficientScopeError} */
export async function connectLink(address: Address, options: LinkOptions): Promise<Link> {
  const { promise: gone, resolve: tellGone } = Promise.withResolvers<string>()
  const calls = new OpenCalls(options.clock)
  let session: Session | null = null
  const begin = (): Promise<Session> =>
    beginSession(address, {
      ...options,
      calls,
      onClose: (client, reason) => (client === session?.client ? tellGone(reason) : undefined),
    })
  session = await begin()
  let renewing: Promise<void> | null = null

  let isDropped = false

  async function renewed(ready: (client: Client) => Promise<void>): Promise<void> {
    const next = await begin()
    try {
      await ready(next.client)
      if (isDropped) throw new LinkError('it was ended meanwhile', false)
    } catch (error) {
      await next.client.close().catch(() => {})
      throw error
    }
    session = next
  }

  const { child } = session
  const version = session.client.getServerVersion()
  return {
    get client() {
      return (session as Session).client
    },
    pid: child?.pid ?? null,
    server: version === undefined ? null : `${version.name} ${version.version}`,
    legacy: session.client.getProtocolEra() === 'legacy',
    calls,
    gone: gone.then((reason) => `${reason}${child?.ended === reason ? stderrOf(child) : ''}`),
    renew(stale, ready) {
      if (stale !== session?.client) return renewing ?? Promise.resolve()
      return (renewing ??= renewed(ready).finally(() => (renewing = null)))
    },
    async drop(reason) {
      isDropped = true
      tellGone(reason)
      await session?.client.close().catch(() => {})
    },
  }
}

/** Whether the server forgot the session of a client, and so has not done what it was asked. */
export const isForgotten = (error: unknown, hadSession: boolean): boolean =>
  hadSession && error instanceof SdkHttpError && error.status === 404

/** Whether a client's session may be forgotten. Ask before a request, because a closed client has none. */
export const isInSession = ({ transport }: Client): boolean => transport?.sessionId !== undefined

interface Session {
  readonly client: Client
  /** `null`: the server is reached over HTTP. */
  readonly child: ChildTransport | null
}

interface SessionOptions extends LinkOptions {
  readonly calls: OpenCalls
  onClose(client: Client, reason: string): void
}

async function beginSession(address: Address, options: SessionOptions): Promise<Session> {
  const { clock, startMsMax, mode, calls } = options
  const child = address.kind === 'program' ? childTransport(address, options) : null
  const transport: Transport =
    child ?? httpTransport(address as Extract<Address, { kind: 'http' }>, options.access ?? null)
  const client = new Client(
    { name: 'beaver', version: options.version },
    {
      capabilities: options.elicitation ? elicitationCapability : {},
      versionNegotiation: { mode, probe: { timeoutMs: Math.ceil(startMsMax / 3) } },
      inputRequired: { autoFulfill: false },
      listChanged: {
        tools: { autoRefresh: false, debounceMs: listChangedMs, onChanged: () => options.onListChanged() },
      },
    },
  )
  // The question's form is checked again where it is read, and the answer follows the protocol.
  if (options.elicitation)
    client.setRequestHandler(
      'elicitation/create',
      ({ params }) => calls.answer(params) as Promise<ElicitResult>,
    )
  Object.assign(client, {
    onclose: () => options.onClose(client, child?.ended ?? 'the connection was closed'),
    onerror: () => {}, // The call that fails reports it.
  })

  let late = false
  const giveUp = (): void => void transport.close()
  const timer = clock.after(startMsMax, () => {
    late = true
    giveUp()
  })
  options.signal.addEventListener('abort', giveUp, { once: true })
  try {
    if (options.signal.aborted) throw new Error('it was stopped')
    await client.connect(transport, { timeout: startMsMax + 1_000 })
    if (late) throw new Error('too late')
    keepReadable(transport)
    return { client, child }
  } catch (error) {
    const reason = late
      ? `it did not answer within ${startMsMax / 1000} s`
      : (child?.ended ?? messageOf(error))
    const asked = !late && mode === 'auto' && child !== null && child.ended !== null && child.pid !== null
    await transport.close().catch(() => {})
    if (error instanceof LoginNeeded || error instanceof InsufficientScopeError) throw error
    throw new LinkError(`${reason}${stderrOf(child)}`, asked, { cause: error })
  } finally {
    timer.cancel()
    options.signal.removeEventListener('abort', giveUp)
  }
}

function httpTransport(
  { url, headers }: { url: string; headers: Readonly<Record<string, string>> },
  access: AuthProvider | null,
): Transport {
  return new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: boundedFetch,
    ...(access === null ? {} : { authProvider: access, onInsufficientScope: 'throw' as const }),
    reconnectionOptions: reconnects,
  })
}

function stderrOf(child: ChildTransport | null): string {
  const tail = (child?.stderrTail ?? '').replace(/\s+/g, ' ').trim()
  if (tail === '') return ''
  return `; its stderr ends with: ${tail.length <= stderrCharsTold ? tail : `…${tail.slice(-stderrCharsTold)}`}`
}

async function boundedFetch(input: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init)
  if (response.body === null) return response
  const streams = response.headers.get('content-type')?.includes('text/event-stream') === true
  const { status, statusText, headers } = response
  return new Response(response.body.pipeThrough(bound(streams)), { status, statusText, headers })
}

/**
 * Fails after `messageBytesMax` bytes. With `streams`, each message of an event stream is counted alone: the
 * count starts again after each chunk with an empty line.
 */
function bound(streams: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length
      if (streams && endsMessage(chunk)) bytes = 0
      if (bytes > messageBytesMax)
        controller.error(
          new Error(`The server sent more than ${messageBytesMax / 1024 / 1024} MiB in one message.`),
        )
      else controller.enqueue(chunk)
    },
  })
}

function endsMessage(chunk: Uint8Array): boolean {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
  return text.includes('\n\n') || text.includes('\r\n\r\n')
}

/**
 * Turns an unreadable piece of a result into a text that says so. Otherwise the protocol's client would
 * refuse the whole result. The transport must be connected.
 */
function keepReadable(transport: Transport): void {
  const { onmessage } = transport
  if (onmessage === undefined) return
  Object.assign(transport, {
    onmessage: (message, extra) => onmessage(readable(message), extra),
  } satisfies Pick<Transport, 'onmessage'>)
}

function readable(message: JSONRPCMessage): JSONRPCMessage {
  if (!('result' in message) || !Array.isArray(message.result['content'])) return message
  return {
    ...message,
    result: { ...message.result, content: (message.result['content'] as unknown[]).map(blockOf) },
  }
}

function blockOf(block: unknown): ContentBlock {
  const read = specTypeSchemas.ContentBlock['~standard'].validate(block)
  if (read.issues === undefined) return block as ContentBlock
  const { type } = (block ?? {}) as { readonly type?: unknown }
  return {
    type: 'text',
    text: `[content of the kind ${typeof type === 'string' ? JSON.stringify(type.slice(0, 100)) : 'unknown'}, which Beaver cannot read]`,
  }
}

// OpenCalls: which call a server means when it asks in the protocol of 2025. The request does not name the
// call, and all calls share one connection, but a question must not reach the person of another call. So it
// waits, for a bounded time, until only one open call could have asked. A call that has ended did not ask,
// because it would wait for the answer. A question outside of all calls gets `cancel`.

const waitMsMax = 10_000
const waitingMax = 100

export class OpenCalls {
  readonly #clock: Clock
  readonly #open = new Set<CallInputs>()
  readonly #waiting = new Set<() => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @returns a function that ends the call */
  begin(inputs: CallInputs): () => void {
    this.#open.add(inputs)
    return () => {
      this.#open.delete(inputs)
      for (const look of this.#waiting) look()
    }
  }

  async answer(params: unknown): Promise<ElicitationAnswer> {
    const asker = await this.#asker()
    return asker === null ? { action: 'cancel' } : asker.answer(params)
  }

  #asker(): Promise<CallInputs | null> {
    const could = [...this.#open]
    const [only = null] = could
    if (could.length <= 1 || this.#waiting.size >= waitingMax)
      return Promise.resolve(could.length === 1 ? only : null)
    const { promise, resolve } = Promise.withResolvers<CallInputs | null>()
    const look = (): void => {
      const left = could.filter((each) => this.#open.has(each))
      if (left.length <= 1) end(left[0] ?? null)
    }
    const end = (asker: CallInputs | null): void => {
      late.cancel()
      this.#waiting.delete(look)
      resolve(asker)
    }
    const late = this.#clock.after(waitMsMax, () => {
      for (const each of could)
        each.note(
          'A question was cancelled, because several calls of its server were open and it did not say which one asked.',
        )
      end(null)
    })
    this.#waiting.add(look)
    return promise
  }
}
