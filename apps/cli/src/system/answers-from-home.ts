// Answers the questions of a command from the read model of a home in which nothing runs.
// H1. It is told that nothing runs, and how old the answers are.
// H2. What needs the journal is refused: nothing is compared, and nothing is called verified.
import type { QueryInput, QueryName, QueryOutput } from '@beaver/contracts'
import { BeaverError } from '@beaver/core'
import { subjectsOf } from '@beaver/nats'
import { type Config, readModelFile } from '@beaver/platform'
import { answer, type ModelSnapshot, openSnapshot } from '@beaver/projection'
import { statSync } from 'node:fs'
import { moment } from '../text/figures.ts'
import type { Answers } from './answers-from-file.ts'

export interface KeptAnswers extends Answers, Disposable {
  /** Where the answers are from, and of when, for a person. */
  readonly told: string
}

/** @returns `null` if the home has no read model that can be read, or is not ours */
export function answersFromHome({ home, foreignHome, namespace, tenant }: Config): KeptAnswers | null {
  if (foreignHome) return null
  const file = readModelFile(home, subjectsOf(namespace, { tenant }).fileName)
  const snapshot = opened(file)
  if (snapshot === null) return null
  const now = Date.now()
  const at = moment(new Date(writtenMs(file) ?? now).toISOString(), now)
  return {
    told:
      `Nothing runs here now. This is what ${file} had at ${at}: the journal up to message ${snapshot.sequence}. ` +
      `"beaver up" starts Beaver, and open tasks go on.`,
    client: {
      async query<Name extends QueryName>(name: Name, input?: QueryInput<Name>): Promise<QueryOutput<Name>> {
        if (name === 'audit' && (input as QueryInput<'audit'>).verify === true)
          throw new BeaverError('no_daemon', 'nothing runs that could read the journal. Start it with "beaver up".')
        return answer(snapshot.sql, name, input ?? {}) as QueryOutput<Name>
      },
    },
    [Symbol.dispose]: () => snapshot[Symbol.dispose](),
  }
}

/** Another version of Beaver may have written it. The next start builds it again. */
function opened(file: string): ModelSnapshot | null {
  try {
    return openSnapshot(file)
  } catch (error) {
    if (error instanceof BeaverError) return null
    throw error
  }
}

/** When the file or its log was written last. */
function writtenMs(file: string): number | undefined {
  const times = [file, `${file}-wal`].flatMap((each) => statSync(each, { throwIfNoEntry: false })?.mtimeMs ?? [])
  return times.length === 0 ? undefined : Math.max(...times)
}
