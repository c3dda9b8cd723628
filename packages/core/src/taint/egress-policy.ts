// Which calls a run may still make by itself after it has read a stranger's text or a secret: one decision
// for each label and kind of sink, and the stricter one if both apply. @beaver/agent decides about
// exceptions, such as a link from a search result.
import type { Taint, TaintLabel } from './taint.ts'

/**
 * What a call does with its arguments. `fetch`: it contacts an address that the arguments name. `query`: it
 * hands them to a service that the operator chose. `send`: it acts on the outside, or nobody said what it
 * does. `memory`: it writes what later runs read. `command`: it runs a program. `files`: it writes in the
 * workspace.
 */
export const sinks = ['fetch', 'query', 'send', 'memory', 'command', 'files'] as const
/** What a call does with its arguments. */
export type Sink = (typeof sinks)[number]

/** The decisions, the stricter ones later. */
export const guards = ['allow', 'ask', 'deny'] as const
/** What happens to a call: it runs, a person is asked, or it is refused. */
export type Guard = (typeof guards)[number]

/** The decision for each kind of sink and each label. */
export type EgressPolicy = Readonly<Record<Sink, Readonly<Record<TaintLabel, Guard>>>>

/** The decisions of an empty configuration. */
export const defaultEgressPolicy: EgressPolicy = {
  fetch: { untrusted: 'ask', secret: 'ask' },
  query: { untrusted: 'allow', secret: 'ask' },
  send: { untrusted: 'ask', secret: 'ask' },
  memory: { untrusted: 'ask', secret: 'ask' },
  command: { untrusted: 'ask', secret: 'ask' },
  // A file stays with the user, and write_file asks by itself.
  files: { untrusted: 'allow', secret: 'allow' },
}

/**
 * The stricter of two decisions.
 *
 * @example
 * stricter('ask', 'allow') // => 'ask'
 */
export const stricter = (one: Guard, other: Guard): Guard =>
  guards.indexOf(one) >= guards.indexOf(other) ? one : other

/**
 * What the table says about a call with this sink in a run with these labels.
 *
 * @example
 * const read = { untrusted: ['https://a.example'], secret: [], public: true }
 * egressGuard(read, 'send', defaultEgressPolicy) // => 'ask'
 * egressGuard(read, 'query', defaultEgressPolicy) // => 'allow'
 */
export function egressGuard(taint: Taint, sink: Sink, policy: EgressPolicy): Guard {
  const guards = policy[sink]
  return stricter(
    taint.untrusted.length === 0 ? 'allow' : guards.untrusted,
    taint.secret.length === 0 ? 'allow' : guards.secret,
  )
}
