// The in-memory twin of a loop's host: a log of sealed records that are read back as from a journal, one
// entry for each append. A test may hold back appends and settle them by hand. Decisions and steering texts
// are durable before the loop hears of them.
import type {
  Appended,
  ApprovalDecision,
  ClientAnswered,
  QuestionSettled,
  LoopEnd,
  LoopHost,
  Steer,
  TeamRunResult,
} from '@beaver/agent'
import {
  type Clock,
  type DataOf,
  type EventType,
  event,
  type LiveDelta,
  pause,
  systemClock,
} from '@beaver/core'
import type { ExecutionGraph } from '@beaver/core/graph'
import {
  type Draft,
  emptyHead,
  draft,
  joinBatch,
  type LogHead,
  openRecord,
  type RecordedEvent,
  type SealedRecord,
  seal,
  splitBatch,
} from '@beaver/core/journal'

export interface MemoryHost extends LoopHost {
  /** The durable events of each append. */
  readonly entries: readonly (readonly RecordedEvent[])[]
  readonly events: readonly RecordedEvent[]
  readonly types: readonly EventType[]
  /** How the loop ended, for each append that ends it. */
  readonly ends: readonly LoopEnd[]
  /** The types of the events in the waiting appends. */
  readonly waiting: readonly (readonly EventType[])[]
  /** Holds back appends until `settle` or `refuse`, from the first one with an event of this type, or now. */
  hold(from?: EventType): void
  /** Makes the oldest waiting append durable. */
  settle(): void
  /** Refuses the oldest waiting append, because another daemon owns the task. */
  refuse(error: Error): void
  /** The ids of calls that wait for a decision, in the order of the loop's requests. */
  readonly undecided: readonly string[]
  /** Records a decision about a call, then tells the loop. */
  decide(
    callId: string,
    decision: {
      readonly approved: boolean
      readonly by?: string
      readonly userId?: string
      readonly reason?: string
      readonly arguments?: string
    },
  ): void
  /** The waiting questions, as `<call> <index>`. */
  readonly unanswered: readonly string[]
  /** Records the answer to a question of a call, then tells the loop. */
  answerQuestion(callId: string, index: number, answer: DataOf<'question_answered'>['answer']): void
  /** The ids of calls that wait for the client. */
  readonly atClient: readonly string[]
  /** Records the client's answer to a call, then tells the loop. */
  answerForClient(callId: string, answer: { readonly content: string; readonly error?: string }): void
  /** Records a steering text, then tells the loop. */
  steer(requestId: string, text: string): void
  /** The live pieces of answers. */
  readonly deltas: readonly Pick<LiveDelta, 'call' | 'offset' | 'text'>[]
}

export interface MemoryHostOptions {
  /** The log so far. Default: empty. */
  readonly entries?: readonly (readonly RecordedEvent[])[]
  /** The clock for pauses. Default: the system's. */
  readonly clock?: Clock
  readonly runTeam?: (callId: string, graph: ExecutionGraph) => Promise<TeamRunResult>
  /** The team of a call that cannot be planned any more. Default: none. */
  readonly knownTeam?: (callId: string) => Promise<TeamRunResult>
  readonly services?: Partial<
    Pick<
      LoopHost,
      | 'approval'
      | 'reserve'
      | 'memory'
      | 'searchSessions'
      | 'callExternal'
      | 'describeExternal'
      | 'delta'
      | 'progress'
      | 'pause'
      | 'storeBlob'
      | 'loadBlob'
    >
  >
}

const written = {
  epoch: 1,
  source: '/beaver/daemons/test',
  subject: 'task',
  time: '2026-01-01T00:00:00.000Z',
}

export function memoryHost(options: MemoryHostOptions = {}): MemoryHost {
  const entries: (readonly RecordedEvent[])[] = [...(options.entries ?? [])]
  const ends: LoopEnd[] = []
  const waiting: { readonly types: readonly EventType[]; store(): void; reject(error: Error): void }[] = []
  const undecided = new Map<string, PromiseWithResolvers<ApprovalDecision>>()
  const unanswered = new Map<string, PromiseWithResolvers<QuestionSettled>>()
  const atClient = new Map<string, PromiseWithResolvers<ClientAnswered>>()
  const teams = new Map<string, TeamRunResult>()
  const deltas: Pick<LiveDelta, 'call' | 'offset' | 'text'>[] = []
  const steers: Steer[] = []
  const blobs = new Map<string, Uint8Array>()
  let held = false
  let holdFrom: EventType | null = null
  let head: LogHead = entries.flat().at(-1) ?? emptyHead

  function store(drafts: readonly Draft[], end: LoopEnd | null): number | null {
    if (
      end?.status === 'completed' &&
      steers.some(({ requestId }) => end.steersGiven?.includes(requestId) !== true)
    )
      return null
    const first = head.taskseq + 1
    const records: SealedRecord[] = []
    for (const each of drafts) {
      const sealed = seal(head, each, written)
      records.push(sealed.record)
      head = sealed.head
    }
    const blobs = records.map((record) =>
      record.blob === null ? undefined : Buffer.from(record.blob.bytes).toString(),
    )
    entries.push(splitBatch(joinBatch(records)).map((record, i) => openRecord(record, blobs[i])))
    if (end !== null) ends.push(end)
    return first
  }

  return {
    entries,
    ends,
    get events() {
      return entries.flat()
    },
    get types() {
      return entries.flat().map((event) => event.type)
    },
    get waiting() {
      return waiting.map(({ types }) => types)
    },
    hold(from) {
      held = from === undefined
      holdFrom = from ?? null
    },
    settle: () => taken().store(),
    refuse: (error) => taken().reject(error),
    append(drafts, end) {
      // Only plain data can be sent to another thread.
      const [copies, endCopy] = structuredClone([drafts, end] as const)
      held ||= holdFrom !== null && copies.some((each) => each.type === holdFrom)
      const stored = (): Appended | null => {
        const first = store(copies, endCopy)
        return first === null ? null : { first, granted: null }
      }
      if (!held) return Promise.resolve(stored())
      return new Promise((resolve, reject) =>
        waiting.push({
          types: copies.map((each) => each.type),
          store: () => resolve(stored()),
          reject,
        }),
      )
    },
    steers: () => steers,
    steer(requestId, text) {
      store([draft(event('task_steer_requested', { request_id: requestId, text }))], null)
      steers.push({ requestId, text })
    },
    get undecided() {
      return [...undecided.keys()]
    },
    deltas,
    decide(callId, { approved, by = 'ann', userId, reason = '', arguments: args }) {
      const edited = args === undefined ? {} : { arguments: args }
      const decided = approved
        ? event('approval_granted', { call_id: callId, by, ...edited }, 'run1')
        : event(
            'approval_denied',
            { call_id: callId, by, reason, ...(userId === undefined ? {} : { user_id: userId }) },
            'run1',
          )
      const taskseq = store([draft(decided)], null) as number
      undecided.get(callId)?.resolve({ event: decided as ApprovalDecision['event'], taskseq })
      undecided.delete(callId)
    },
    approval(callId) {
      const wait = undecided.get(callId) ?? Promise.withResolvers<ApprovalDecision>()
      undecided.set(callId, wait)
      return wait.promise
    },
    get unanswered() {
      return [...unanswered.keys()]
    },
    answerQuestion(callId, index, answer) {
      const answered = event(
        'question_answered',
        { call_id: callId, question_index: index, answer, by: 'ann' },
        'run1',
      )
      const taskseq = store([draft(answered)], null) as number
      unanswered.get(`${callId} ${index}`)?.resolve({ event: answered as QuestionSettled['event'], taskseq })
      unanswered.delete(`${callId} ${index}`)
    },
    answer({ callId, index }, signal) {
      const wait = Promise.withResolvers<QuestionSettled>()
      unanswered.set(`${callId} ${index}`, wait)
      signal.addEventListener('abort', () => unanswered.delete(`${callId} ${index}`), { once: true })
      return wait.promise
    },
    get atClient() {
      return [...atClient.keys()]
    },
    answerForClient(callId, answer) {
      const answered = event('client_call_answered', { call_id: callId, ...answer, by: 'web' }, 'run1')
      const taskseq = store([draft(answered)], null) as number
      atClient.get(callId)?.resolve({ event: answered as ClientAnswered['event'], taskseq })
      atClient.delete(callId)
    },
    clientAnswer(callId, signal) {
      const wait = Promise.withResolvers<ClientAnswered>()
      atClient.set(callId, wait)
      signal.addEventListener('abort', () => atClient.delete(callId), { once: true })
      return wait.promise
    },
    memory: () => Promise.reject(new Error('No memory was expected.')),
    searchSessions: () => Promise.reject(new Error('No search was expected.')),
    stillOurs: () => null,
    reserve: () => Promise.reject(new Error('No reservation was expected.')),
    pause: ({ ms }, signal) => pause(options.clock ?? systemClock, ms, signal),
    callExternal: ({ name }) => Promise.reject(new Error(`No external tool ${name} was expected.`)),
    describeExternal: async () => null,
    delta: (delta) => void deltas.push(delta),
    progress: () => {},
    storeBlob: async (sha256, bytes) => void blobs.set(sha256, bytes),
    loadBlob: async (sha256) => blobs.get(sha256) ?? null,
    ...options.services,
    teamOf: async (callId) => teams.get(callId) ?? null,
    sharedState: () => Promise.reject(new Error('No shared state was expected.')),
    async runTeam(callId, graph) {
      if (graph === null && options.knownTeam === undefined)
        return { refused: { code: 'unknown_team', message: 'The call has started no team.' } }
      const started = graph === null ? options.knownTeam?.(callId) : options.runTeam?.(callId, graph)
      if (started === undefined) throw new Error(`No team was expected for call ${callId}.`)
      const team = await started
      teams.set(callId, team)
      return team
    },
  }

  function taken() {
    const next = waiting.shift()
    if (next === undefined) throw new Error('No append is waiting.')
    return next
  }
}
