// Whether the projector's read model is what a rebuild from the journal gives. The rebuild is a projector of
// its own on an empty folder; nothing is shared but the journal and the key. A projector without a key would
// make one and announce it in the journal, behind what is compared.
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { projectorProcess } from '../support/projector.ts'
import type { Cluster } from './cluster.ts'

/** `null`: they agree. Stops the cluster's projector. */
export async function projectionFault(
  cluster: Cluster,
  lastSequence: number,
  withinMs: number,
): Promise<string | null> {
  const deadline = Date.now() + withinMs
  if (!(await caughtUp(cluster.projectorFile, lastSequence, deadline)))
    return `the projector stands at ${sequenceOf(cluster.projectorFile)} of ${lastSequence}`
  await cluster.stopProjector()
  await using rebuild = await projectorProcess({
    url: cluster.server.url,
    namespace: cluster.namespace,
    env: { BEAVER_KEYS: join(dirname(cluster.projectorFile), 'keys') },
  })
  const rebuilt = join(rebuild.home, `projection-${cluster.namespace}.db`)
  if (!(await caughtUp(rebuilt, lastSequence, deadline + withinMs)))
    return `the rebuild stands at ${sequenceOf(rebuilt)} of ${lastSequence}`
  return firstDifference(rowsOf(cluster.projectorFile), rowsOf(rebuilt))
}

async function caughtUp(file: string, lastSequence: number, deadline: number): Promise<boolean> {
  while (Date.now() < deadline) {
    if (sequenceOf(file) >= lastSequence) return true
    await sleep(50)
  }
  return false
}

function sequenceOf(file: string): number {
  try {
    const db = new DatabaseSync(file, { readOnly: true })
    try {
      return (
        (db.prepare('select sequence from checkpoint').get() as { sequence: number } | undefined)?.sequence ??
        0
      )
    } finally {
      db.close()
    }
  } catch {
    return 0 // It is not there yet, or busy.
  }
}

/** No functions of the journal alone: where the projector stands, and how far it has indexed. */
const positions: ReadonlySet<string> = new Set(['checkpoint', 'text_index', 'unindexed_tasks'])

/**
 * All rows as text, by table; without positions, and without the parts of a text index, which depend on how
 * rows came in.
 */
function rowsOf(file: string): ReadonlyMap<string, readonly string[]> {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    const tables = db
      .prepare(
        "select name from sqlite_master where type = 'table' and sql not like 'create virtual%' and name not like '%_fts_%' order by name",
      )
      .all()
    const rows = (name: string): string[] =>
      db
        .prepare(`select * from "${name}"`)
        .all()
        .map((row) => JSON.stringify(row))
    return new Map(
      (tables as { name: string }[])
        .filter(({ name }) => !positions.has(name))
        .map(({ name }) => [name, rows(name).toSorted()]),
    )
  } finally {
    db.close()
  }
}

function firstDifference(
  kept: ReadonlyMap<string, readonly string[]>,
  rebuilt: ReadonlyMap<string, readonly string[]>,
): string | null {
  for (const [name, rows] of rebuilt) {
    const [before, after] = [new Set(kept.get(name)), new Set(rows)]
    const [one] = before.difference(after)
    const [other] = after.difference(before)
    if (one !== undefined || other !== undefined)
      return `${name}: the projection has ${one?.slice(0, 600)}, the rebuild ${other?.slice(0, 600)}`
  }
  return null
}
