import { emptySystemLog, KeyRing } from '@beaver/core/journal'
import { expect, test } from 'vitest'
import { newStream, singleTask } from '../test/journal-fixture.ts'
import { noArchives } from './fold/archives.ts'
import { openReadModel } from './read-model.ts'
import { countFaults, verifyTasks } from './verify.ts'

test('a task is compared with its entries in every table that has rows of it, and sessions with their tasks', async () => {
  const stream = newStream()
  const [one, two] = [stream.log('one', { session: 's' }), stream.log('two', { session: 's' })]
  singleTask(one)
  singleTask(two)
  const signatures = { namespace: 'S', ring: new KeyRing('', emptySystemLog) }
  using model = openReadModel(':memory:', { readBlob: stream.readBlob, ...signatures })
  model.begin('S@1')
  await model.apply(stream.messages)
  const verdicts = await verifyTasks(model.sql, [1, 2], {
    readBlob: stream.readBlob,
    replacedData: () => null,
    archives: noArchives,
    readLog: async (log) => stream.messages.filter((message) => message.log?.task === log.task),
    signatures,
  })
  expect(verdicts.map(({ kind, log }) => [log.task, kind])).toEqual([
    ['one', 'same'],
    ['two', 'same'],
  ])
  expect(countFaults(model.sql)).toEqual([])
  model.sql.run("update sessions set user_id = 'Mallory'")
  expect(countFaults(model.sql)).toEqual(['1 rows of sessions do not fit the tasks of the read model.'])
})
