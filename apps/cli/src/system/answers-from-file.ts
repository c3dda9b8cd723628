// Answers questions about tasks from an export, such as the file of an archive, without a running system. The
// export is folded into a read model in memory. The file must pass the independent check before its content
// is called verified. What was removed from the record before the export was written is not shown.
import { checkJournal, type JournalSource, placeOf, type StreamMessage } from '@beaver/check'
import type { QueryInput, QueryName, QueryOutput } from '@beaver/contracts'
import { BeaverError, type LogId } from '@beaver/core'
import { type PriceTable, priceTable } from '@beaver/core/cost'
import {
  type Entry,
  readKeyRing,
  RemovalLog,
  type Replacements,
  replacementsOf,
  type SystemLog,
} from '@beaver/core/journal'
import { answer, type JournalMessage, openReadModel, type ReadModel } from '@beaver/projection'
import { counted } from '../text/figures.ts'
import { exportedJournal } from './journal-source.ts'

/** The source of answers to queries: a running system, a file, or the read model of a home. */
export interface Answers {
  /** The time of the answers, in milliseconds since 1970. Absent: now. */
  readonly asOf?: number
  readonly client: {
    query<Name extends QueryName>(name: Name, input?: QueryInput<Name>): Promise<QueryOutput<Name>>
  }
}

/**
 * Opens an export. The caller must close it.
 *
 * @param prices what calls cost. Default: the prices that every Beaver knows
 * @throws {BeaverError} `not_found` for a missing file, `invalid_arguments` for a file that is not an export
 */
export async function answersFromFile(
  file: string,
  prices: () => PriceTable = () => listPrices,
): Promise<Answers & AsyncDisposable> {
  const source = await exportedJournal(file)
  const model = await modelOf(source)
  return {
    client: {
      async query<Name extends QueryName>(name: Name, input?: QueryInput<Name>): Promise<QueryOutput<Name>> {
        const verified = name === 'audit' ? await verifiedIn(file, model, input as QueryInput<'audit'>) : null
        return answer(model.sql, name, input ?? {}, { verified, prices: prices() }) as QueryOutput<Name>
      },
    },
    [Symbol.asyncDispose]: () => model[Symbol.asyncDispose](),
  }
}

const listPrices = priceTable({})

async function modelOf(source: JournalSource): Promise<ReadModel> {
  const texts = await textsIn(source)
  const model = openReadModel(':memory:', {
    readBlob: (sha256) => texts.get(sha256),
    replacedData: (hash) => texts.of(hash),
  })
  model.begin(`${source.about.stream}@${source.about.created}`)
  const messages: JournalMessage[] = []
  for await (const page of source.pages())
    for (const { sequence, subject, payload, signature } of page) {
      const place = placeOf(subject)
      if ('log' in place) messages.push({ sequence, log: place.log as LogId, payload, signature })
    }
  // An archive has one session after the other, but the read model needs the messages in the order of the
  // stream.
  await model.apply(messages.toSorted((a, b) => a.sequence - b.sequence))
  return model
}

/** The result of the independent check for a task in the file. */
async function verifiedIn(
  file: string,
  model: ReadModel,
  { task_id, session_id }: QueryInput<'audit'>,
): Promise<QueryOutput<'audit'>['verified']> {
  if (task_id === undefined) return null
  const { findings } = await checkJournal(await exportedJournal(file), { task: task_id, now: Date.now() })
  const { heads } = answer(model.sql, 'audit', { task_id, session_id }) as QueryOutput<'audit'>
  const [head] = heads
  if (head === undefined) return null
  const messages = findings
    .slice(0, 5)
    .map(({ message }) => `${counted(findings.length, 'finding')} in the file: ${message}`)
  const differs =
    messages.length === 0 ? [] : [{ task_id, session_id: head.session_id, tenant: head.tenant, messages }]
  return {
    tasks: 1,
    tasks_left: 0,
    events: head.last_taskseq,
    head: messages.length === 0 ? head.hash : null,
    differs,
  }
}

// Reads the texts of an export and replaces those that its own system logs name as removed.

/** @throws {BeaverError} if a system log of the export cannot be read */
async function textsIn(source: JournalSource): Promise<Replacements> {
  const log = systemLogIn(source)
  // The tenant does not matter here, because only texts are replaced and no task is looked up.
  const removals = new RemovalLog('', log, () => readKeyRing({ log, namespace: source.about.stream }))
  const stored = {
    async get(sha256: string): Promise<Uint8Array> {
      const bytes = await source.readBlob(sha256)
      if (bytes === null) throw new BeaverError('blob_missing', `The file does not have the blob ${sha256}.`)
      return bytes
    },
  }
  const texts = replacementsOf(stored, () => removals.now())
  await texts.refresh()
  return texts
}

function systemLogIn(source: JournalSource): Pick<SystemLog, 'read' | 'last'> {
  const read: SystemLog['read'] = async (name) => {
    const entries: Entry[] = []
    if (name !== 'checkpoints') for await (const page of source[name]()) entries.push(...page.map(entryOf))
    return entries
  }
  return { read, last: async (name) => (await read(name)).at(-1) ?? null }
}

const entryOf = ({ sequence, time, payload, signature }: StreamMessage): Entry => ({
  revision: sequence,
  timeMs: Date.parse(time),
  payload,
  signature,
})
