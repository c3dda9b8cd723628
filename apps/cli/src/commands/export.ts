// `beaver export`: writes the journal and its blobs as NDJSON. The file gets its name only when it is
// complete, and only its owner can read it, because it has the texts of all tasks. A link that somebody put
// at its temporary name is not followed. The export waits for a slow reader.
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { exportLines, type JournalSource } from '@beaver/check'
import { BeaverError, messageOf } from '@beaver/core'
import { connect } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { findSystem } from '../system/find-system.ts'
import { wholeJournal } from '../system/journal-evidence.ts'
import { count } from '../text/figures.ts'
import { progressOn } from '../view/progress.ts'

export async function exportJournal(
  { out }: { readonly out?: string },
  globals: GlobalOptions,
): Promise<number> {
  const { config, screen } = contextOf(globals)
  await using connection = await connect(findSystem(config))
  await writeJournal(await wholeJournal(connection), out, screen)
  return 0
}

/** Writes a journal to a file; if `out` is `undefined`, to stdout. */
export async function writeJournal(
  source: JournalSource,
  out: string | undefined,
  screen: Screen,
): Promise<void> {
  if (out === undefined) {
    for await (const line of exportLines(source, new Date().toISOString())) await screen.paced(line)
    return
  }
  const lines = await writeFile(source, out, screen)
  screen.print(
    `${screen.symbols.done} ${out}: ${count(lines)} lines, messages up to ${count(source.about.lastSequence)}`,
  )
}

async function writeFile(source: JournalSource, out: string, screen: Screen): Promise<number> {
  const progress = progressOn(screen, true)
  const partial = `${out}.partial`
  let lines = 0
  async function* counted(): AsyncGenerator<string> {
    for await (const line of exportLines(source, new Date().toISOString(), (sequence) =>
      progress.show('Exporting', sequence, source.about.lastSequence),
    )) {
      lines++
      yield `${line}\n`
    }
  }
  try {
    await rm(partial, { force: true })
    await pipeline(counted, createWriteStream(partial, { mode: 0o600, flags: 'wx' }))
    await rename(partial, out)
  } catch (cause) {
    await rm(partial, { force: true })
    throw new BeaverError('internal', `The export could not be written to ${out}: ${messageOf(cause)}`, {
      cause,
    })
  } finally {
    progress.end()
  }
  return lines
}
