// The audit and projection service: follows the journal into the read model and answers the queries.
// P1. A batch and the position after it are one transaction. P2. A stream that was recreated stops it, loudly.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '@beaver/config'
import { connectNats, followJournal, natsBlobStore, natsJournal, serve, streamIdentity, subjectsOf } from '@beaver/nats'
import { answer, openReadModel, queries } from '@beaver/projection'

export interface Projector {
  readonly info: { readonly file: string; readonly sequence: number }
  /** Rejects when the projector cannot go on. */
  readonly failed: Promise<unknown>
  stop(): Promise<void>
}

/** @throws {BeaverError} `unreachable`, `stream_recreated` */
export async function startProjector(config: Config, natsUrl: string): Promise<Projector> {
  const subjects = subjectsOf(config.namespace)
  const nc = await connectNats({ url: natsUrl, name: 'beaver-projector' })
  // A start that fails leaves nothing behind, in a program that embeds the projector too.
  await using undo = new AsyncDisposableStack()
  undo.defer(() => nc.close())
  await natsJournal(nc, subjects) // the stream may not be there yet
  const blobs = await natsBlobStore(nc, subjects)
  mkdirSync(config.home, { recursive: true })
  const file = join(config.home, `projection-${config.namespace}.db`)
  const model = openReadModel(file, { readBlob: (sha256) => blobs.get(sha256) })
  undo.defer(() => model.close())
  const { identity } = await streamIdentity(nc, subjects)
  const sequence = model.begin(identity)
  const stopping = new AbortController()

  const following = (async () => {
    for await (const batch of followJournal(nc, subjects, { from: sequence + 1, signal: stopping.signal })) await model.apply(batch.messages)
    if (!stopping.signal.aborted) throw new Error('The journal cannot be followed any more.')
  })()
  following.catch(() => {}) // told through `failed`
  const services = Object.keys(queries).map((name) => serve(nc, subjects.query(name), async (request) => answer(model.sql, name, request)))

  await nc.flush() // the server knows the subscriptions: ready means ready
  undo.move()
  return {
    info: { file, sequence },
    failed: following,
    async stop() {
      stopping.abort()
      await Promise.all(services.map((service) => service.stop()))
      await following.catch(() => {})
      model.close()
      await nc.drain()
    },
  }
}
