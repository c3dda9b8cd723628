// Reads the subjects of the journal stream: which log a message belongs to. No other file of this package
// reads subjects. Tokens 0 and 1 are the root of the namespace, and are not checked.
// L2. An id is one token. A byte outside of `A-Za-z0-9_-` is written as `=XX`.

export interface LogPlace {
  readonly tenant: string
  readonly session: string
  readonly task: string
}

export type Place =
  /** The log of a message. `accepted` contains its first entry, `events` all later ones. */
  | { readonly kind: 'accepted' | 'events'; readonly log: LogPlace }
  /** A claim on the id of a task in a session with another name. */
  | { readonly kind: 'id'; readonly tenant: string; readonly task: string }
  /** An entry of a system log, which belongs to no task. */
  | { readonly kind: 'system'; readonly name: string; readonly tenant: string }
  | { readonly kind: 'unknown' }

const systemLogs: ReadonlySet<string> = new Set(['keys', 'checkpoints', 'redactions'])

/** The subject of a system log, for any tenant of the stream. */
export const systemSubject = (namespace: string, name: 'keys' | 'redactions'): string =>
  ['beaver', namespace, 'system', '*', name].join('.')

/** The subject of all entries of a log but the first one. */
export const eventsSubject = (namespace: string, { tenant, session, task }: LogPlace): string =>
  ['beaver', namespace, 'log', ...[tenant, session, task].map(tokenOf), 'events'].join('.')

/** The place that a subject names; `unknown` if it is not a subject of a journal. */
export function placeOf(subject: string): Place {
  const [, , area, ...tokens] = subject.split('.')
  const [tenant, session, task, part, end] = tokens.map(idOf)
  if (area === 'system' && session !== undefined && tokens.length === 2)
    return systemLogs.has(session) && tenant !== undefined
      ? { kind: 'system', name: session, tenant }
      : { kind: 'unknown' }
  if (area !== 'log' || tenant === undefined || session === undefined || task === undefined)
    return { kind: 'unknown' }
  if (tokens.length === 5 && part === 'id' && end === 'claimed' && session === task)
    return { kind: 'id', tenant, task }
  return tokens.length === 4 && (part === 'accepted' || part === 'events')
    ? { kind: part, log: { tenant, session, task } }
    : { kind: 'unknown' }
}

/** The token of an id (L2). */
const tokenOf = (id: string): string =>
  [...Buffer.from(id)]
    .map((byte) => {
      const letter = String.fromCharCode(byte)
      return /[A-Za-z0-9_-]/.test(letter) ? letter : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')

/** The id of a token; `undefined` if it is not the token of any id. */
function idOf(token: string): string | undefined {
  if (!/^(?:[A-Za-z0-9_-]|=[0-9A-F]{2})+$/.test(token)) return undefined
  try {
    return decodeURIComponent(token.replaceAll('=', '%'))
  } catch {
    return undefined
  }
}
