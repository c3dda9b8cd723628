// Serves the requests that any daemon answers, each by its contract. A handler gets a request that fits its
// contract, with defaults; the compiler checks that the answer fits. The subject says who asks, because the
// NATS server decides who may publish there. A caller asks for itself, unless it may publish on the subject
// for others.
import { requestContracts, type RequestName, type RequestOutput, type RequestRead } from '@beaver/contracts'
import { BeaverError } from '@beaver/core'
import type { TraceContext } from '@beaver/core/trace'
import { callerOf, parseRequest, type Subjects } from '@beaver/nats'
import type { GatedService } from './while-healthy.ts'

/** The requests that lead to no write. */
const readsOnly: ReadonlySet<RequestName> = new Set(['status', 'memory', 'loaded', 'plan'])

/** The name of a request in the message that refuses it. */
const calledAs = (name: RequestName): string =>
  name === 'task.submit' || name === 'task.run' ? 'task' : `request ${name}`

type Handle<Name extends RequestName> = (
  asked: RequestRead<Name>,
  caller: { readonly by: string; readonly trace: TraceContext | null },
) => Promise<RequestOutput<Name>>

interface ServeHow {
  readonly openMax?: number
  /** The id of this daemon: the request is also served on the daemon's own subject. Default: it is not. */
  readonly daemon?: string
}

/** Serves the request of a name until `stop`. */
export type ServeRequest = <Name extends RequestName>(
  name: Name,
  handle: Handle<Name>,
  options?: ServeHow,
) => { stop(): Promise<void> }

/** @param gate a request that leads to a write waits for it; it may refuse the request */
export function serveRequests(
  serving: GatedService,
  subjects: Subjects,
  gate: () => Promise<void> | null,
): ServeRequest {
  return (name, handle, { daemon, ...options } = {}) => {
    const serveAt = (subject: string, forOthers: boolean): { stop(): Promise<void> } =>
      serving(
        subject,
        async (request, at, trace) => {
          const by = callerOf(at)
          const asked = parseRequest(requestContracts[name].input, request, calledAs(name))
          if (!forOthers) mayAskFor(asked, by)
          if (!readsOnly.has(name)) await gate()
          return handle(asked, { by, trace })
        },
        options,
      )
    const served = [
      serveAt(subjects.services(name), false),
      serveAt(subjects.behalves(name), true),
      ...(daemon === undefined ? [] : [serveAt(subjects.servicesOf(daemon, name), false)]),
    ]
    return { stop: async () => void (await Promise.all(served.map((each) => each.stop()))) }
  }
}

/** @throws {BeaverError} `not_allowed` */
function mayAskFor(asked: object & { readonly user_id?: string | undefined }, by: string): void {
  if (asked.user_id === undefined || asked.user_id === by) return
  const text = `${by} may not ask on behalf of ${asked.user_id} here. An identity that may do this asks on the subject for others, "beaver.<namespace>.behalf.…".`
  throw new BeaverError('not_allowed', text, { problems: [{ path: 'user_id', message: text }] })
}
