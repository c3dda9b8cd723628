// What the library shows, as it is in the address. Pure.
import type { LoadedKind } from '@beaver/contracts'

export interface LibrarySearch {
  readonly kind?: LoadedKind
  readonly name?: string
}

const kinds: readonly LoadedKind[] = ['skill', 'profile', 'tool', 'workflow', 'mcp_server']

export function readLibrarySearch(raw: Readonly<Record<string, unknown>>): LibrarySearch {
  const kind = kinds.find((each) => each === raw['kind'])
  // The address of a name of digits is read as a number.
  const text = typeof raw['name'] === 'number' ? String(raw['name']) : raw['name']
  const name = typeof text === 'string' && text !== '' ? text : undefined
  return { ...(kind === undefined ? {} : { kind }), ...(name === undefined ? {} : { name }) }
}
