// Answers the questions of a command from the read model of a home in which nothing runs. A person reads
// first that nothing runs, and from when the answers are. What needs the journal is refused: nothing is
// compared, and nothing is called verified. A read model that cannot be read is named, with what to do.
import type { QueryInput, QueryName, QueryOutput } from '@beaver/contracts'
import { BeaverError, messageOf } from '@beaver/core'
import { subjectsOf } from '@beaver/nats'
import { type Config, lockHolder, readModelFile } from '@beaver/platform'
import { answer, openSnapshot } from '@beaver/projection'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { moment } from '../text/figures.ts'
import type { Answers } from './answers-from-file.ts'
import { mustRead } from './find-system.ts'

export interface KeptAnswers extends Answers, Disposable {
  /** Where the answers are from, and from when, for a person. */
  readonly told: string
}

/**
 * @returns `null` if the home has no read model, or is not ours
 * @throws {BeaverError} `unreachable` if its read model cannot be read, or if the user may not read the home
 */
export function answersFromHome({ home, foreignHome, namespace, tenant }: Config): KeptAnswers | null {
  if (foreignHome) return null
  const file = readModelFile(home, subjectsOf(namespace, { tenant }).fileName)
  mustRead([home, join(home, 'run'), file])
  const asOf = writtenMs(file)
  if (asOf === undefined) return null
  const snapshot = readable(file, () => openSnapshot(file))
  return {
    asOf,
    told:
      `${stateOf(home)} This is what it knew at ${moment(new Date(asOf).toISOString(), Date.now())}, from ${file}.` +
      (lockHolder(home) === null ? ' "beaver up" starts it, and open tasks go on.' : ''),
    client: {
      async query<Name extends QueryName>(name: Name, input?: QueryInput<Name>): Promise<QueryOutput<Name>> {
        if (name === 'audit' && (input as QueryInput<'audit'>).verify === true)
          throw new BeaverError('no_daemon', 'Beaver does not run, so nothing reads the journal.')
        return readable(file, () => answer(snapshot.sql, name, input ?? {}) as QueryOutput<Name>)
      },
    },
    [Symbol.dispose]: () => snapshot[Symbol.dispose](),
  }
}

/**
 * A process may hold the home that takes no questions yet, or none any more: `beaver up` that starts, or a
 * backup.
 */
function stateOf(home: string): string {
  const holder = lockHolder(home)
  return holder === null
    ? 'Beaver does not run here now.'
    : `Process ${holder.pid} holds this home, and Beaver does not answer yet.`
}

/** When the read model was written last. Whoever reads it makes an empty log beside it. */
function writtenMs(file: string): number | undefined {
  const written = [file, `${file}-wal`]
    .map((each) => statSync(each, { throwIfNoEntry: false }))
    .filter((each) => each !== undefined)
  return written[0] === undefined
    ? undefined
    : Math.max(...written.filter(({ size }) => size > 0).map(({ mtimeMs }) => mtimeMs), 0)
}

function readable<T>(file: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'wrong_state')
      throw new BeaverError('unreachable', `Beaver does not run here now. ${error.message}`, { cause: error })
    if (error instanceof BeaverError && error.code !== 'invalid_configuration') throw error
    const why = `Beaver does not run here now, and its read model cannot be read: ${messageOf(error).replace(/\.$/, '')}.`
    throw new BeaverError(
      'unreachable',
      `${why} Start Beaver with "beaver up". If it still cannot be read, delete ${file}: Beaver builds it again.`,
      {
        cause: error,
      },
    )
  }
}
