// Whose memory the page shows, as it is in the address. Pure.

/** Whose list is in the address. */
export interface MemorySearch {
  readonly user?: string
}

/** Reads the query string of the address. A user may be called 7. */
export function readMemorySearch({ user }: Readonly<Record<string, unknown>>): MemorySearch {
  const text = typeof user === 'number' ? String(user) : typeof user === 'string' ? user.trim() : ''
  return text === '' ? {} : { user: text }
}
