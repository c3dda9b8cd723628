// What the form of a new task begins with, as it is in the address. Pure.

export interface StartSearch {
  readonly workflow?: string
  readonly profile?: string
  readonly skill?: string
  readonly session?: string
  /** The id of a task whose input the form begins with. */
  readonly again?: string
}

export function readStartSearch(raw: Readonly<Record<string, unknown>>): StartSearch {
  const fields = (['workflow', 'profile', 'skill', 'session', 'again'] as const).flatMap((name) => {
    const value = raw[name]
    // The address of a name of digits is read as a number.
    const text = typeof value === 'number' ? String(value) : value
    return typeof text === 'string' && text !== '' ? [[name, text] as const] : []
  })
  return Object.fromEntries(fields)
}
