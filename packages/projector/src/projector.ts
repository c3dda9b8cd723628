// The audit and projection service: follows the journal into the read model, and answers the queries.
// P1. A batch and the position after it are stored in one transaction.
// P2. It does not start with the read model of another stream. If the stream is deleted or recreated while the projector runs, this is
//     reported, and the queries go on (follow.ts).
import { join } from 'node:path'
import { queryContracts } from '@beaver/contracts'
import { appendCheckpoint, type Logger, replacementsOf, silentLogger, systemClock } from '@beaver/core'
import { callerName, connectNats, ensureJournalStream, natsBlobReader, natsSystemLog, serve, streamIdentity, subjectsOf, watchConnection } from '@beaver/nats'
import { type Config, homeChangeTexts, makeHomePrivate, makePrivateFile } from '@beaver/platform'
import { answer, type Around, openReadModel } from '@beaver/projection'
import { CheckpointMaker } from './checkpoint-maker.ts'
import { configuredTargets } from './checkpoint-targets.ts'
import { followIntoModel } from './follow.ts'
import { signingKey } from './signing-key.ts'

export interface Projector {
  readonly info: { readonly file: string; readonly sequence: number }
  /** Rejects if the projector cannot go on. */
  readonly failed: Promise<unknown>
  stop(): Promise<void>
}

/** @throws {BeaverError} `unreachable`, `stream_recreated` */
export async function startProjector(config: Config, natsUrl: string, { logger = silentLogger }: { logger?: Logger } = {}): Promise<Projector> {
  const subjects = subjectsOf(config.namespace, { tenant: config.tenant, caller: callerName(natsUrl, config.natsLogin) })
  const nc = await connectNats({ url: natsUrl, login: config.natsLogin, name: 'beaver-projector' })
  watchConnection(nc, logger, subjects.stream)
  // A start that fails must leave nothing behind, even in a program that embeds the projector.
  await using undo = new AsyncDisposableStack()
  undo.defer(() => nc.close())
  await ensureJournalStream(nc, subjects)
  const blobs = natsBlobReader(nc, subjects)
  for (const text of homeChangeTexts(config.home, makeHomePrivate(config.home))) logger.warn('home_open', text)
  const file = join(config.home, `projection-${subjects.fileName}.db`)
  makePrivateFile(file) // The further files of SQLite have the mode of this one.
  const systemLog = await natsSystemLog(nc, subjects)
  const replacements = replacementsOf(blobs, systemLog)
  await replacements.refresh()
  const model = openReadModel(file, {
    readBlob: (sha256) => replacements.get(sha256),
    replacedData: (hash) => replacements.of(hash),
    namespace: subjects.stream,
  })
  undo.defer(() => model.close())
  const { identity, lastSequence } = await streamIdentity(nc, subjects)
  model.begin(identity, lastSequence)
  if (model.remembersRedacted()) model.forget() // It was redacted, and the projector was stopped before it forgot.
  const sequence = model.position()
  const stopping = new AbortController()

  const checkpoints = new CheckpointMaker(
    {
      model,
      origin: identity,
      key: signingKey(join(config.home, 'keys', 'projector.key')),
      file: join(config.home, `checkpoints-${subjects.fileName}.ndjson`),
      targets: [
        { name: 'the journal', write: ({ note }) => appendCheckpoint(systemLog, note, { source: '/beaver/projector', clock: systemClock }) },
        ...configuredTargets(config.checkpoints, subjects.fileName),
      ],
      everyMs: config.checkpoints.every_ms,
      everyEvents: config.checkpoints.every_events,
    },
    { logger },
  )
  const making = checkpoints.run()
  const applied = (batch: Parameters<CheckpointMaker['applied']>[0]): void => checkpoints.applied(batch)
  const following = followIntoModel(nc, { subjects, model, identity, replacements, applied, signal: stopping.signal }, { logger })
  following.over.catch(() => {}) // `failed` reports it.
  const around = async (name: string): Promise<Partial<Around>> =>
    name === 'status' ? { following: await following.state(), anchoring: checkpoints.state } : { notes: checkpoints.notes }
  const services = Object.keys(queryContracts).map((name) =>
    serve(nc, subjects.queries(name), async (request) => answer(model.sql, name, request, await around(name))),
  )

  await nc.flush() // A projector that is ready answers queries, so the server has to know the subscriptions first.
  undo.move()
  return {
    info: { file, sequence },
    failed: following.over,
    async stop() {
      stopping.abort()
      checkpoints.stop()
      await making
      await Promise.all(services.map((service) => service.stop()))
      await following.over.catch(() => {})
      model.close()
      await nc.drain()
    },
  }
}
