// Which calls a run may still make by itself after it has read something private, a stranger's text or a
// secret: one decision for each label and kind of sink, and the strictest one if several apply. @beaver/agent
// decides about exceptions, such as a link from a search result.
import { labelsOf, type Taint, type TaintLabel } from './taint.ts'

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
  // The address itself can tell what was read, and the model chooses to whom it goes.
  fetch: { private: 'ask', untrusted: 'ask', secret: 'ask' },
  query: { private: 'allow', untrusted: 'allow', secret: 'ask' },
  send: { private: 'allow', untrusted: 'ask', secret: 'ask' },
  memory: { private: 'allow', untrusted: 'ask', secret: 'ask' },
  command: { private: 'allow', untrusted: 'ask', secret: 'ask' },
  // A file stays with the user, and write_file asks by itself.
  files: { private: 'allow', untrusted: 'allow', secret: 'allow' },
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
 * const ownFile = { untrusted: [], secret: [], public: false }
 * egressGuard(ownFile, 'fetch', defaultEgressPolicy) // => 'ask'
 * egressGuard(ownFile, 'send', defaultEgressPolicy) // => 'allow'
 */
export const egressGuard = (taint: Taint, sink: Sink, policy: EgressPolicy): Guard =>
  labelsOf(taint)
    .map((label) => policy[sink][label])
    .reduce(stricter, 'allow')
