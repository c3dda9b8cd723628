// The audit and projection service: follows the journal into the read model (follow.ts), and answers the
// queries. A batch and the position after it are stored in one transaction.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { queryContracts, type QueryOutput } from '@beaver/contracts'
import {
  BeaverError,
  type Logger,
  type LogId,
  pause,
  silentLogger,
  steadyClock,
  systemClock,
} from '@beaver/core'
import {
  appendCheckpoint,
  type KeyRing,
  readKeyRing,
  RemovalLog,
  type Replacements,
  type SystemLog,
} from '@beaver/core/journal'
import {
  callerName,
  changePublisher,
  closeGently,
  connectNats,
  ensureJournalStream,
  type JournalMark,
  journalReader,
  type JournalReader,
  type JournalWatch,
  markStore,
  type MarkStore,
  natsSystemLog,
  natsTexts,
  openInCluster,
  roleLogin,
  serve,
  streamPulse,
  type Subjects,
  subjectsOf,
  watchConnection,
  watchJournal,
} from '@beaver/nats'
import {
  beaverVersion,
  type Config,
  currentPrices,
  homeChangeTexts,
  homeKeys,
  journalFiles,
  keptFile,
  knownOperator,
  machineName,
  makeHomePrivate,
  makePrivateFile,
  readModelFile,
  serverLogOf,
} from '@beaver/platform'
import {
  answer,
  type Around,
  countFaults,
  type JournalMessage,
  keyOfTask,
  openReadModel,
  type ReadModel,
  type TaskVerdict,
  verifyTasks,
} from '@beaver/projection'
import { otlpSink } from '@beaver/telemetry/traces'
import { type AppliedPart, ChangeTeller } from './change-teller.ts'
import { CheckpointMaker } from './checkpoint-maker.ts'
import { configuredTargets } from './checkpoint-targets.ts'
import { type FollowedJournal, followIntoModel } from './follow.ts'
import { KnownArchives } from './known-archives.ts'
import { ProjectorKey } from './projector-key.ts'
import { TraceFeed, type TracingState } from './trace-feed.ts'

export interface Projector {
  readonly info: { readonly file: string; readonly sequence: number }
  /** Rejects if the projector cannot go on. */
  readonly failed: Promise<unknown>
  stop(): Promise<void>
}

/** @throws {BeaverError} `unreachable`, `start_failed` */
export async function startProjector(
  config: Config,
  natsUrl: string,
  { logger = silentLogger }: { logger?: Logger } = {},
): Promise<Projector> {
  const login = roleLogin(config.natsLogin, 'projector')
  const subjects = subjectsOf(config.namespace, { tenant: config.tenant, caller: callerName(natsUrl, login) })
  const nc = await connectNats({ url: natsUrl, login, name: 'beaver-projector' })
  watchConnection(nc, logger, subjects.stream)
  // A failed start must leave nothing behind, even in a program that embeds the projector.
  await using undo = new AsyncDisposableStack()
  undo.defer(() => nc.close())
  await openInCluster(nc, () => ensureJournalStream(nc, subjects, config.nats), { logger })
  const file = privateModelFile(config, subjects, logger)
  const systemLog = await natsSystemLog(nc, subjects)
  const { replacements, archives, removals } = await knownRemovals(nc, systemLog, subjects)
  const model = openReadModel(file, {
    archives,
    readBlob: (sha256) => replacements.get(sha256),
    replacedData: (hash) => replacements.of(hash),
    namespace: subjects.stream,
  })
  undo.defer(() => model.close())
  const { mark, acceptances } = journalFiles(config.home, subjects.stream, 'projector')
  const operator = (): string | null => knownOperator(homeKeys(config.keysFolder), subjects.stream)
  let following: FollowedJournal | null = null
  const watch = await watchJournal(nc, {
    subjects,
    store: withCheckpoint(markStore(mark, acceptances, { stream: subjects.stream, operator }), model),
    logger,
    archived: async () => (await removals.now()).archived,
    onAccepted() {
      if (following === null) model.clear()
      else following.buildAgain()
    },
  })
  undo.defer(() => watch.close())
  if (model.bound() === null) model.begin(watch.identity)
  if (model.remembersRemoved()) model.forget() // It was redacted or archived, and the projector was stopped before it forgot.
  const stopping = new AbortController()
  const checkpoints = checkpointMaker(config, {
    subjects,
    model,
    origin: model.bound()?.stream ?? watch.identity,
    systemLog,
    watch,
    logger,
  })
  const making = checkpoints.run()
  const traces = await tracesSent(config, { nc, subjects, model, logger })
  undo.defer(() => traces.stop())
  const changes = changesTold(nc, subjects)
  const into = {
    subjects,
    model,
    watch,
    serverLog: serverLogOf(config.home),
    replacements,
    archives,
    begun: (sequence: number): void => changes.begun(sequence),
    applied(batch: AppliedPart & { readonly news: number }): void {
      checkpoints.applied(batch)
      changes.applied(batch)
      traces.applied()
    },
    signal: stopping.signal,
  }
  const followed = followIntoModel(nc, into, { logger })
  following = followed
  followed.over.catch(() => {}) // `failed` reports it.
  const comparison = new Comparison({
    model,
    reader: await journalReader(nc, subjects),
    replacements,
    archives,
    watch,
    namespace: subjects.stream,
  })
  const prices = currentPrices(config, (message) => logger.warn('prices_unread', message))
  const around = async (name: string, request: unknown): Promise<Partial<Around>> => ({
    prices: prices(),
    ...(await aroundOf(name, request, { followed, checkpoints, comparison, traces })),
  })
  const services = Object.keys(queryContracts).map((name) =>
    serve(nc, subjects.queries(name), async (request) =>
      answer(model.sql, name, request, await around(name, request)),
    ),
  )

  await nc.flush() // A projector that is ready answers queries, so the server has to know the subscriptions first.
  const watched = await watchedBy(config, { nc, model, watch, logger, around, spans: traces.state })
  undo.move()
  return {
    info: { file, sequence: model.bound()?.sequence ?? 0 },
    failed: followed.over,
    async stop() {
      await watched.stop()
      stopping.abort()
      checkpoints.stop()
      await Promise.all([making, ...services.map((service) => service.stop())])
      await followed.over.catch(() => {})
      await traces.stop()
      await watch.close()
      model.close()
      await closeGently(nc)
      // A line that comes up again would start its timer again, so it stops after the line.
      changes.stop()
    },
  }
}

/** The file of the read model, in a home that is private now. */
function privateModelFile({ home }: Config, { fileName }: Subjects, logger: Logger): string {
  for (const text of homeChangeTexts(home, makeHomePrivate(home))) logger.warn('home_open', text)
  const file = readModelFile(home, fileName)
  makePrivateFile(file) // The further files of SQLite have the mode of this one.
  return file
}

/** What the configuration wants for those who watch the system: a listener, alerts, or nothing. */
async function watchedBy(
  config: Config,
  {
    nc,
    model,
    watch,
    logger,
    around,
    spans,
  }: {
    readonly nc: Parameters<typeof changePublisher>[0]
    readonly model: ReadModel
    readonly watch: JournalWatch
    readonly logger: Logger
    readonly around: (name: string, request: unknown) => Promise<Partial<Around>>
    readonly spans: () => TracingState | null
  },
): Promise<{ stop(): Promise<void> }> {
  const status = async () =>
    answer(model.sql, 'status', {}, await around('status', {})) as QueryOutput<'status'>
  const parts = { nc, sql: model.sql, logger, status, spans, isHarmed: () => watch.harm !== null }
  const listener =
    config.status.listen === 'off'
      ? null
      : await (await import('./projector-status.ts')).listenToProjector(config, parts)
  const isAlerting = config.alerts.webhook !== undefined && Object.keys(config.alerts.rules).length > 0
  const alerts = isAlerting
    ? (await import('./alert-watch.ts')).watchAlerts(config, { ...parts, around })
    : null
  return {
    async stop() {
      await alerts?.stop()
      await listener?.stop()
    },
  }
}

/** Tells readers of changes over this connection. */
function changesTold(nc: Parameters<typeof changePublisher>[0], subjects: Subjects): ChangeTeller {
  const { publish, onUp } = changePublisher(nc, subjects)
  // A clock that jumps back would hold changes back.
  const changes = new ChangeTeller({ projector: randomUUID(), clock: steadyClock, tell: publish })
  onUp(() => changes.lost())
  return changes
}

/** What was redacted or archived, as the journal says now. */
async function knownRemovals(nc: Parameters<typeof natsTexts>[0], log: SystemLog, subjects: Subjects) {
  const ring = (): Promise<KeyRing> => readKeyRing({ log, namespace: subjects.stream })
  const removals = new RemovalLog(subjects.tenant, log, ring)
  const replacements = natsTexts(nc, subjects, () => removals.now())
  const archives = new KnownArchives(removals, subjects)
  await replacements.refresh()
  await archives.refresh()
  return { replacements, archives, removals }
}

interface TraceParts {
  readonly nc: Parameters<typeof natsTexts>[0]
  readonly subjects: Subjects
  readonly model: ReadModel
  readonly logger: Logger
}

/** How long a collector that is silent holds up the end of the process. */
const closeMsMax = 500

/** Sends spans to a collector until `stop`, if the configuration names one. */
async function tracesSent(
  { traces, namespace, home }: Config,
  { nc, subjects, model, logger }: TraceParts,
): Promise<{ applied(): void; state(): TracingState | null; stop(): Promise<void> }> {
  if (traces === null) return { applied: () => {}, state: () => null, stop: async () => {} }
  const { endpoint, ratio, content } = traces
  const resource = { 'service.namespace': namespace, 'service.instance.id': machineName() }
  const sink = await otlpSink({ endpoint, version: beaverVersion, resource })
  const kept = keptFile(join(home, `traces-${subjects.fileName}.json`))
  const stream = await streamPulse(nc, subjects.stream).look()
  const end = stream.kind === 'there' ? stream.lastSequence : 0
  const feed = new TraceFeed(
    { model, namespace: subjects.stream, sink, ratio, content, kept, end },
    { logger },
  )
  const running = feed.run()
  return {
    applied: () => feed.applied(),
    state: () => feed.state,
    async stop() {
      feed.stop()
      await running
      // What it still sends is sent again by the next process.
      await Promise.race([sink.close(), pause(systemClock, closeMsMax, new AbortController().signal)])
    },
  }
}

interface CheckpointParts {
  readonly subjects: Subjects
  readonly model: ReadModel
  readonly origin: string
  readonly systemLog: SystemLog
  readonly watch: JournalWatch
  readonly logger: Logger
}

function checkpointMaker(
  config: Config,
  { subjects, model, origin, systemLog: log, watch, logger }: CheckpointParts,
): CheckpointMaker {
  // Write nothing into a journal that has changed.
  const systemLog: SystemLog = { ...log, append: async (entry) => (await watch.gate(), log.append(entry)) }
  const journalKeys = { log: systemLog, keys: homeKeys(config.keysFolder), namespace: subjects.stream }
  const key = new ProjectorKey({ ...journalKeys, now: () => Date.now(), name: machineName() })
  const intoJournal = async ({ note }: { readonly note: string }): Promise<void> => {
    const now = await key.current()
    if (now.kind === 'none')
      throw new BeaverError('key_untrusted', now.fault ?? 'The journal has no operator.')
    await appendCheckpoint(systemLog, note, {
      source: '/beaver/projector',
      clock: systemClock,
      sign: now.signEntry,
    })
  }
  return new CheckpointMaker(
    {
      model,
      origin,
      key,
      gate: () => watch.gate(),
      file: join(config.home, `checkpoints-${subjects.fileName}.ndjson`),
      targets: [
        { name: 'the journal', write: intoJournal },
        ...configuredTargets(config.checkpoints, subjects.fileName),
      ],
      everyMs: config.checkpoints.every_ms,
      everyEvents: config.checkpoints.every_events,
    },
    { logger },
  )
}

/** What a query gets besides the read model. */
async function aroundOf(
  name: string,
  request: unknown,
  parts: {
    readonly followed: FollowedJournal
    readonly checkpoints: CheckpointMaker
    readonly comparison: Comparison
    readonly traces: { state(): TracingState | null }
  },
): Promise<Partial<Around>> {
  const { followed, checkpoints, comparison, traces } = parts
  if (name === 'status')
    return {
      following: await followed.state(),
      anchoring: checkpoints.state,
      tracing: traces.state(),
    }
  if (name === 'proof') return { notes: await checkpoints.notes() }
  if (name !== 'audit') return {}
  const asked = queryContracts.audit.input.safeParse(request ?? {})
  const verified = asked.data?.verify === true ? await comparison.run(asked.data) : null
  return { following: await followed.state(), verified }
}

/** Takes a missing mark from the read model: the stream and the last message from which that was built. */
function withCheckpoint(store: MarkStore, model: ReadModel): MarkStore {
  return {
    ...store,
    readMark(): JournalMark | null {
      const bound = model.bound()
      const fromModel =
        bound === null ? null : { ...emptyMark(), identity: bound.stream, sequence: bound.sequence }
      return store.readMark() ?? fromModel
    },
  }
}

/** A mark without a hash is compared by its place alone, as the content of the last message is not known. */
const emptyMark = () => ({
  hash: '',
  missing: 0,
  lost: null,
  settings: [],
  chosen: {},
  reported: [],
  settled: [],
  accepted: [],
})

// On request, compares tasks of the read model with the journal: one task, or the newest ones for a bounded
// time. A difference is in the answer, and is a finding of the journal's watch until somebody accepts it. If
// the read model is emptied meanwhile, or more is archived, nothing was compared, because the rows and the
// journal are not of the same moment. Comparisons do not overlap, so they hold the entries of one batch of
// tasks at a time.

type Verified = NonNullable<QueryOutput<'audit'>['verified']>

interface ComparisonOf {
  readonly model: ReadModel
  readonly reader: JournalReader
  readonly replacements: Replacements
  readonly watch: JournalWatch
  readonly archives: KnownArchives
  /** The name to which signatures are bound: the journal's stream. */
  readonly namespace: string
}

/** A task to compare, instead of the newest ones. */
interface NamedTask {
  readonly task_id?: string | undefined
  readonly session_id?: string | undefined
  readonly tenant?: string | undefined
  /** `null`: a task without a user. Absent: a task of any user. */
  readonly user_id?: string | null | undefined
}

/** The time of a comparison of many tasks, and how many it takes at a time. */
const budgetMs = 500
const batchMax = 20
/** Tries for a task that is written during the comparison. */
const triesMax = 4

class Comparison {
  readonly #parts: ComparisonOf
  #running: Promise<unknown> = Promise.resolve()

  constructor(parts: ComparisonOf) {
    this.#parts = parts
  }

  /**
   * @param input of the query `audit` @throws {BeaverError} `not_found`, `invalid_arguments` for the name of
   * a task
   */
  run(input: NamedTask): Promise<Verified> {
    const { task_id: taskId } = input
    const work = this.#running.then(() =>
      taskId === undefined ? this.#newest(input.user_id) : this.#one({ ...input, task_id: taskId }),
    )
    this.#running = work.catch(() => {})
    return work
  }

  async #one(name: NamedTask & { readonly task_id: string }): Promise<Verified> {
    const key = keyOfTask(this.#parts.model.sql, name)
    let verdicts: readonly TaskVerdict[] = []
    for (let tries = 0; tries < triesMax; tries++) {
      verdicts = await this.#compare([key])
      if (verdicts.length > 0 && verdicts[0]?.kind !== 'moved') break
    }
    return this.#told(verdicts, 0)
  }

  /** @param user only tasks of this user; `null`: those without a user. Default: all tasks */
  async #newest(user: NamedTask['user_id']): Promise<Verified> {
    const { sql } = this.#parts.model
    const faults = countFaults(sql)
    for (const message of faults) this.#parts.watch.report({ kind: 'rows_differ', message, harmful: false })
    const keys = sql
      .all<{ task_key: number }>(
        `select task_key from tasks ${user === undefined ? '' : 'where user_id is ?'} order by task_key desc`,
        user === undefined ? [] : [user],
      )
      .map(({ task_key: key }) => key)
    const verdicts: TaskVerdict[] = []
    const end = performance.now() + budgetMs
    let done = 0
    while (done < keys.length && performance.now() < end) {
      verdicts.push(...(await this.#compare(keys.slice(done, done + batchMax))))
      done += batchMax
      await setImmediate()
    }
    const told = this.#told(verdicts, keys.length - verdicts.length)
    const isWhole =
      user === undefined && told.tasks_left === 0 && told.differs.length === 0 && faults.length === 0
    if (isWhole)
      this.#parts.watch.withdraw(({ kind }) => kind === 'rows_differ' || kind === 'read_model_changed')
    return told
  }

  /** @returns the verdicts; empty if the rows changed as a whole meanwhile */
  async #compare(keys: readonly number[]): Promise<readonly TaskVerdict[]> {
    const { model, archives } = this.#parts
    const [emptied, archived] = [model.emptied, archives.archived()]
    const isSameMoment = async (): Promise<boolean> =>
      model.emptied === emptied && archives.archived() === archived && (await archives.isCurrent())
    try {
      const verdicts = await this.#verdicts(keys)
      return verdicts.some(({ kind }) => kind === 'differs') && !(await isSameMoment()) ? [] : verdicts
    } catch (error) {
      if (await isSameMoment()) throw error
      return []
    }
  }

  #verdicts(keys: readonly number[]): Promise<TaskVerdict[]> {
    const { model, reader, replacements, archives, namespace } = this.#parts
    const readLog = async (log: LogId): Promise<readonly JournalMessage[]> => {
      const messages: JournalMessage[] = []
      for await (const { revision, payload, signature } of reader.entries(log))
        messages.push({ sequence: revision, log, payload, signature })
      return messages
    }
    return verifyTasks(model.sql, keys, {
      archives,
      readBlob: (sha256) => replacements.get(sha256),
      replacedData: (hash) => replacements.of(hash),
      readLog,
      signatures: { namespace, ring: model.keyRing() },
    })
  }

  #told(verdicts: readonly TaskVerdict[], left: number): Verified {
    const same = verdicts.filter((verdict) => verdict.kind === 'same')
    const differs = verdicts.filter((verdict) => verdict.kind === 'differs')
    for (const { log, messages } of differs)
      this.#parts.watch.report({
        kind: 'rows_differ',
        message: `The task ${log.task} is not as it was: ${messages[0] ?? ''}`,
        harmful: false,
        task: log.task,
      })
    this.#parts.watch.withdraw(
      ({ kind, task }) => kind === 'rows_differ' && same.some(({ log }) => log.task === task),
    )
    return {
      tasks: same.length + differs.length,
      tasks_left: left + verdicts.length - same.length - differs.length,
      events: same.reduce((sum, { events }) => sum + events, 0),
      head: verdicts.length === 1 ? (same[0]?.head ?? null) : null,
      differs: differs.map(({ log, messages }) => ({
        task_id: log.task,
        session_id: log.session,
        tenant: log.tenant,
        messages: [...messages],
      })),
    }
  }
}
