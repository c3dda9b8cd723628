// A read model of what a test writes.
import { openReadModel, type ReadModel } from '../src/read-model.ts'
import { newStream } from './journal-fixture.ts'

/** A read model in memory that has applied the stream. */
export async function modelOf(write: (stream: ReturnType<typeof newStream>) => void): Promise<ReadModel> {
  const stream = newStream()
  write(stream)
  const model = openReadModel(':memory:', { readBlob: stream.readBlob })
  model.begin('S@1')
  await model.apply(stream.messages)
  return model
}
