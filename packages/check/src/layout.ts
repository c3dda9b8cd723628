// What a subject of the journal stream says: which log a message belongs to. The one place of this package that reads subjects.
// L1. Tokens 0 and 1 are the root of the namespace; they are not looked at. L2. An id is one token: a byte beyond `A-Za-z0-9_-` is `=XX`.

/** Where a log is. */
export interface LogPlace {
  readonly tenant: string
  readonly session: string
  readonly task: string
}

export type Place =
  /** `accepted` holds a log's first entry, `events` all later ones. */
  | { readonly kind: 'accepted' | 'events'; readonly log: LogPlace }
  /** A claim on the id of a task whose session has another name. */
  | { readonly kind: 'id'; readonly tenant: string; readonly task: string }
  | { readonly kind: 'unknown' }

export function placeOf(subject: string): Place {
  const [, , area, ...tokens] = subject.split('.')
  const [tenant, session, task, part, end] = tokens.map(idOf)
  if (area !== 'log' || tenant === undefined || session === undefined || task === undefined) return { kind: 'unknown' }
  if (tokens.length === 5 && part === 'id' && end === 'claimed' && session === task) return { kind: 'id', tenant, task }
  return tokens.length === 4 && (part === 'accepted' || part === 'events') ? { kind: part, log: { tenant, session, task } } : { kind: 'unknown' }
}

/** `undefined` for a token that no id is written as. */
function idOf(token: string): string | undefined {
  if (!/^(?:[A-Za-z0-9_-]|=[0-9A-F]{2})+$/.test(token)) return undefined
  try {
    return decodeURIComponent(token.replaceAll('=', '%'))
  } catch {
    return undefined
  }
}
