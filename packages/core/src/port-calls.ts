// Calls of methods over a message port, between threads or between a process and its child. Each side serves
// objects by number. A call has one result or one error; a note has no answer. Arguments and results are
// plain data, except that an argument may be an AbortSignal or an async function, which works as long as the
// call is under way. An aborted call still waits for its answer.
//
// The other side may be a stranger's code: a message in another form closes the port, and only own methods of
// what is served can be called.
import { BeaverError, type ErrorCode, errorCodes, messageOf } from './errors.ts'

/** A MessagePort, a Worker, or what looks like one. */
export interface Port {
  postMessage(message: unknown, transfer: never[]): void
  on(event: 'message', listener: (message: unknown) => void): unknown
}

/** What methods may give back: the promise of an answer, or nothing if they are notes. */
type Callable<Methods> = {
  readonly [Name in keyof Methods]: (...args: never[]) => Promise<unknown> | null | void
}

/** The methods without an answer, each of them. */
type Notes<Methods> = {
  readonly [
    Name in keyof Methods as Methods[Name] extends (...args: never[]) => infer Answer
      ? void extends Answer
        ? Name
        : never
      : never
  ]: 'note'
}

/** An error as plain data. */
export interface SentError {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly cause?: SentError
}

export interface PortCallsOptions {
  /**
   * Returns the object that has this number. `undefined`: there is none (any more). Default: nothing is
   * served.
   */
  readonly served?: (target: number) => object | undefined
  /** Makes errors of further classes, by their names. A BeaverError arrives as one anyway. */
  readonly errors?: Readonly<Record<string, (sent: SentError) => Error>>
}

type Message =
  | {
      readonly kind: 'call'
      readonly target: number
      /** `0`: a note. */
      readonly call: number
      /** A method; or a function, by the open call of the other side and the place among its arguments. */
      readonly to: string | readonly [call: number, place: number]
      readonly args: readonly unknown[]
      /** The places of the arguments that are no data. */
      readonly live?: readonly (readonly [place: number, kind: 'signal' | 'function'])[]
    }
  | { readonly kind: 'abort'; readonly call: number; readonly reason: string }
  | { readonly kind: 'result'; readonly call: number; readonly value: unknown }
  | { readonly kind: 'error'; readonly call: number; readonly error: SentError }

type Call = Extract<Message, { kind: 'call' }>
type Method = (...args: unknown[]) => unknown

/** A call of this side that has no answer yet. */
interface OpenCall extends Pick<Call, 'call' | 'target'> {
  readonly args: readonly unknown[]
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
  /** Ends that the call listens to its signal. `null`: it has none. */
  readonly leave: (() => void) | null
}

/** A call of the other side that is under way here. */
interface ServedCall extends Pick<Call, 'call' | 'target'> {
  /** `null`: the call has no signal. */
  readonly stop: AbortController | null
}

/** One side of a port. */
export class PortCalls {
  readonly #port: Port
  readonly #options: PortCallsOptions
  readonly #open = new Map<number, OpenCall>()
  readonly #served = new Map<number, ServedCall>()
  #last = 0
  /** Why nothing can be called any more. */
  #closed: Error | null = null

  constructor(port: Port, options: PortCallsOptions = {}) {
    this.#port = port
    this.#options = options
    port.on('message', (message) => this.#receive(message))
  }

  /**
   * The object that the other side serves under a number. A method that is set on it stays on this side. Its
   * calls reject with what the method threw there, or with the reason for which the port was closed.
   */
  remote<Methods extends Callable<Methods>>(target: number, notes: Notes<Methods>): Methods {
    const methods = Object.create(null) as Record<string, unknown>
    return new Proxy(methods, {
      get: (_, name) => {
        // Who awaits it by mistake calls nothing.
        if (typeof name === 'symbol' || name === 'then') return undefined
        methods[name] ??= Object.hasOwn(notes, name)
          ? (...args: unknown[]) => this.#post({ kind: 'call', target, call: 0, to: name, args })
          : (...args: unknown[]) => this.#ask(target, name, args)
        return methods[name]
      },
    }) as Methods
  }

  /**
   * Lets go of a number: its calls that are under way here are aborted and have no answer, and those that
   * wait for the other side never settle.
   */
  abandon(target: number): void {
    for (const each of this.#served.values()) {
      if (each.target !== target) continue
      this.#served.delete(each.call)
      each.stop?.abort()
    }
    for (const each of this.#open.values()) if (each.target === target) this.#taken(each.call)
  }

  /** Calls that wait reject with the reason, and those that are under way here are aborted. */
  close(reason: Error): void {
    if (this.#closed !== null) return
    this.#closed = reason
    for (const { call } of this.#open.values()) this.#taken(call)?.reject(reason)
    for (const { stop } of this.#served.values()) stop?.abort()
    this.#served.clear()
  }

  #post(message: Message): void {
    if (this.#closed === null) this.#port.postMessage(message, [])
  }

  #ask(target: number, to: Call['to'], args: readonly unknown[]): Promise<unknown> {
    if (this.#closed !== null) return Promise.reject(this.#closed)
    const call = ++this.#last
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    if (!args.some((arg) => liveKind(arg) !== null)) {
      this.#open.set(call, { call, target, args: [], resolve, reject, leave: null })
      this.#postCall({ kind: 'call', target, call, to, args })
      return promise
    }
    const signal = args.find((arg) => arg instanceof AbortSignal)
    const abort = (): void => this.#post({ kind: 'abort', call, reason: messageOf(signal?.reason) })
    const leave = (): void => signal?.removeEventListener('abort', abort)
    this.#open.set(call, { call, target, args, resolve, reject, leave })
    const live = args.flatMap((arg, place) => {
      const kind = liveKind(arg)
      return kind === null ? [] : [[place, kind] as const]
    })
    const data = args.map((arg) => (liveKind(arg) === null ? arg : null))
    this.#postCall({ kind: 'call', target, call, to, args: data, live })
    if (signal?.aborted === true) abort()
    else signal?.addEventListener('abort', abort, { once: true })
    return promise
  }

  /** A call whose arguments cannot be sent rejects with the reason, a `DataCloneError`. */
  #postCall(message: Call): void {
    try {
      this.#post(message)
    } catch (error) {
      this.#taken(message.call)?.reject(error as Error)
    }
  }

  #taken(call: number): OpenCall | undefined {
    const open = this.#open.get(call)
    this.#open.delete(call)
    open?.leave?.()
    return open
  }

  #receive(message: unknown): void {
    if (this.#closed !== null) return
    if (!isMessage(message))
      return this.close(new BeaverError('wrong_state', 'The other side sent a message in an unknown form.'))
    switch (message.kind) {
      case 'call':
        if (message.call === 0) return void this.#method(message)?.(...message.args)
        return void this.#serve(message)
      case 'abort':
        return this.#served.get(message.call)?.stop?.abort(new DOMException(message.reason, 'AbortError'))
      case 'result':
        return this.#taken(message.call)?.resolve(message.value)
      case 'error':
        return this.#taken(message.call)?.reject(this.#errorOf(message.error))
      default:
        return message satisfies never
    }
  }

  async #serve(message: Call): Promise<void> {
    const { target, call, args, live = [] } = message
    const method = this.#method(message)
    if (method === undefined) {
      const error = sentError(new BeaverError('not_found', 'This is not served any more.'))
      return this.#post({ kind: 'error', call, error })
    }
    const stop = live.some(([, kind]) => kind === 'signal') ? new AbortController() : null
    this.#served.set(call, { call, target, stop })
    const receivedArgs = live.length === 0 ? args : [...args]
    for (const [place, kind] of live)
      (receivedArgs as unknown[])[place] = kind === 'signal' ? stop?.signal : this.#functionAt(message, place)
    try {
      const value = await method(...receivedArgs)
      if (this.#served.has(call)) this.#post({ kind: 'result', call, value })
    } catch (error) {
      if (this.#served.has(call)) this.#post({ kind: 'error', call, error: sentError(error) })
    } finally {
      this.#served.delete(call)
    }
  }

  #functionAt({ target, call }: Call, place: number): Method {
    return (...args) => {
      const ended = new BeaverError('wrong_state', 'The call that gave this function has ended.')
      const answer = this.#served.has(call) ? this.#ask(target, [call, place], args) : Promise.reject(ended)
      // It also fails when the port is closed, and then perhaps nobody listens any more.
      answer.catch(() => {})
      return answer
    }
  }

  #method({ target, to }: Call): Method | undefined {
    if (typeof to !== 'string') return functionIn(this.#open.get(to[0])?.args[to[1]])
    const object = this.#options.served?.(target)
    return object !== undefined && Object.hasOwn(object, to)
      ? functionIn((object as Readonly<Record<string, unknown>>)[to])
      : undefined
  }

  #errorOf(sent: SentError, depth = 0): Error {
    const { name, message, code, cause } = sent
    const isLast = depth === causesMax || !isSentError(cause)
    const options = isLast ? {} : { cause: this.#errorOf(cause, depth + 1) }
    const { errors = {} } = this.#options
    if (Object.hasOwn(errors, name)) return errors[name]?.(sent) as Error
    if (name === 'BeaverError' && code !== undefined && Object.hasOwn(errorCodes, code))
      return new BeaverError(code as ErrorCode, message, options)
    return Object.assign(new Error(message, options), { name }, code === undefined ? {} : { code })
  }
}

/** How many causes of an error are sent, each the cause of the one before. */
const causesMax = 4

function sentError(error: unknown, depth = 0): SentError {
  if (!(error instanceof Error)) return { name: 'Error', message: messageOf(error) }
  const { name, message, cause } = error
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  const isLast = depth === causesMax || cause === undefined
  return { name, message, ...code, ...(isLast ? {} : { cause: sentError(cause, depth + 1) }) }
}

const liveKind = (arg: unknown): 'signal' | 'function' | null =>
  typeof arg === 'function' ? 'function' : arg instanceof AbortSignal ? 'signal' : null

const functionIn = (value: unknown): Method | undefined =>
  typeof value === 'function' ? (value as Method) : undefined

/** The form of each kind of message, as far as this file relies on it. */
const forms: { readonly [Kind in Message['kind']]: (message: Readonly<Record<string, unknown>>) => boolean } =
  {
    call: ({ target, to, args, live = [] }) =>
      typeof target === 'number' &&
      (typeof to === 'string' || Array.isArray(to)) &&
      Array.isArray(args) &&
      Array.isArray(live) &&
      live.every((each) => Array.isArray(each) && args.length > (each[0] as number)),
    abort: ({ reason }) => typeof reason === 'string',
    result: () => true,
    error: ({ error }) => isSentError(error),
  }

function isMessage(value: unknown): value is Message {
  if (typeof value !== 'object' || value === null) return false
  const { kind, call } = value as Readonly<Record<string, unknown>>
  return (
    typeof call === 'number' &&
    typeof kind === 'string' &&
    Object.hasOwn(forms, kind) &&
    forms[kind as Message['kind']](value as Readonly<Record<string, unknown>>)
  )
}

function isSentError(value: unknown): value is SentError {
  if (typeof value !== 'object' || value === null) return false
  const { name, message, code } = value as Readonly<Record<string, unknown>>
  return (
    typeof name === 'string' && typeof message === 'string' && ['string', 'undefined'].includes(typeof code)
  )
}
