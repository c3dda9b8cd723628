// Names the one who did what an event or an answer of the read model says.

/** `by`: the name of the connection. `user_id`: the user on whose behalf. */
export interface Doer {
  readonly by?: string | null | undefined
  readonly user_id?: string | null | undefined
}

/**
 * The person first, then the connection over which the person did it. A person who did it without another one
 * in between has one name.
 *
 * @returns `somebody` if there is no name
 * @example
 * whoDid({ by: 'gateway', user_id: 'bob' }) // => 'bob (over gateway)'
 * whoDid({ by: 'ada' }) // => 'ada'
 * whoDid({ by: 'ada', user_id: 'ada' }) // => 'ada'
 * whoDid({ by: null, user_id: null }) // => 'somebody'
 */
export function whoDid({ by, user_id }: Doer): string {
  const [over, user] = [by ?? null, user_id ?? null]
  if (user === null || user === over) return over ?? 'somebody'
  return over === null ? user : `${user} (over ${over})`
}

/** The name in `by` if no person decided or answered: nobody could, or nobody did in time. */
export const beaverItself = 'beaver'

/** The names in an event, without the rest of it. */
export const doerOf = ({ by, user_id }: Doer): Doer => ({ by, ...(user_id === undefined ? {} : { user_id }) })
