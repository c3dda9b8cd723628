// `beaver schema`: prints the JSON Schemas of requests, queries and other data that Beaver exchanges. It
// needs no running system.
import { wireDocument, wireEntries, type WireEntry, wireSections } from '@beaver/contracts/wire'
import { BeaverError } from '@beaver/core'
import { type Subjects, subjectsOf } from '@beaver/nats'
import { commandName } from '../command-name.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { table } from '../text/table.ts'

export async function schema(
  name: string | undefined,
  { json }: { readonly json?: true },
  globals: GlobalOptions,
): Promise<number> {
  const { config, screen } = contextOf(globals)
  const entries = wireEntries()
  const subjects = subjectsOf(config.namespace, { tenant: config.tenant, caller: 'CALLER' })
  if (name === undefined) {
    if (json === true) screen.json(wireDocument(entries))
    else screen.print(...schemaTable(entries, screen), '', `Print one: ${commandName()} schema task.submit`)
    return 0
  }
  const entry = entryNamed(name, entries)
  const { kind, says, schemas } = entry
  const shown = { name: entry.name, kind, ...subjectOf(entry, subjects), says, ...schemas }
  if (json === true) screen.json(shown)
  else screen.print(JSON.stringify(shown, null, 2))
  return 0
}

/**
 * Finds an entry by its name, such as `tasks`, or by its kind and name, such as `query.status`, if two
 * entries have the name.
 *
 * @throws {BeaverError} `invalid_arguments` with the existing names
 */
export function entryNamed(typed: string, entries: readonly WireEntry[]): WireEntry {
  const found = entries.filter(({ kind, name }) => typed === name || typed === `${kind}.${name}`)
  const [only] = found
  if (only !== undefined && found.length === 1) return only
  if (only !== undefined) {
    const names = found.map(({ kind, name }) => `${kind}.${name}`).join(' or ')
    throw new BeaverError(
      'invalid_arguments',
      `Several schemas have the name ${JSON.stringify(typed)}. Name one of them: ${names}.`,
    )
  }
  const byKind = Object.entries(wireSections).map(
    ([kind, title]) =>
      `${title}: ${entries.flatMap((entry) => (entry.kind === kind ? [entry.name] : [])).join(', ')}`,
  )
  throw new BeaverError(
    'invalid_arguments',
    `There is no schema ${JSON.stringify(typed)}. The schemas are: ${byKind.join('; ')}.`,
  )
}

function subjectOf({ kind, name }: WireEntry, subjects: Subjects): { readonly subject?: string } {
  if (kind === 'request') return { subject: subjects.service(name) }
  return kind === 'query' ? { subject: subjects.query(name) } : {}
}

function schemaTable(
  entries: readonly WireEntry[],
  { columns, style }: Pick<Screen, 'columns' | 'style'>,
): string[] {
  const several = (of: WireEntry): boolean =>
    entries.some(({ kind, name }) => name === of.name && kind !== of.kind)
  return table<WireEntry>(
    [
      {
        title: 'NAME',
        cell: (entry) => (several(entry) ? `${entry.kind}.${entry.name}` : entry.name),
        paint: style.cyan,
      },
      { title: 'KIND', cell: ({ kind }) => kind, optional: 1 },
      { title: 'WHAT', cell: ({ says }) => says, flexible: true },
    ],
    entries,
    { width: columns, title: style.dim },
  )
}
