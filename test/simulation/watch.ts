// What must hold in every simulated world, watched while it runs. A broken rule is told once, with its name.
// The rules that only the end can show are in run.ts.
import type { LogId } from '@beaver/core'
import type { Entry } from '@beaver/core/journal'
import { isTerminal, newRecord, type Seen, seenIn, type TaskRecord } from './record.ts'

export type Rule =
  | 'one terminal event, nothing behind it'
  | 'contiguous chained log'
  | 'epochs rise'
  | 'one id is one task'
  | 'session order'
  | 'one result a call'
  | 'no answer is asked for again'
  | 'who lost a task notices'
  | 'no effect before its durable start'
  | 'one effect a call'
  | 'a text that steers is given once'
  | 'a client is asked once'
  | 'a client answers once'
  | 'one writer an epoch'
  | 'nothing is asked before the claim'
  | 'room for tasksMax'
  | 'nothing stands still'
  | 'what is due begins at once'
  | 'a lost daemon is replaced'
  | 'a waiting task holds no slot'
  | 'a daemon drains'
  | 'no timers are left'
  | 'no task is given up on'
  | 'no error is unheard'

export interface Violation {
  readonly rule: Rule
  readonly what: string
}

/** What others may write into the log of a task that nobody drives. */
const commands: ReadonlySet<string> = new Set([
  'task_cancel_requested',
  'task_steer_requested',
  'approval_granted',
  'client_call_answered',
  'approval_denied',
])
/** The oldest look that a loop believes, and the ways there and back. */
const noticedMsMax = 600
const genesis = '0'.repeat(64)

export class Watch {
  readonly tasks = new Map<string, TaskRecord>()
  readonly violations: Violation[] = []
  /** Questions and effects of daemons that had lost the task already. */
  zombies = 0
  readonly #effects = new Map<string, number>()
  readonly #trace: (what: () => string) => unknown

  readonly #now: () => number

  /** @param now virtual time */
  constructor(trace: (what: () => string) => unknown, now: () => number) {
    this.#trace = trace
    this.#now = now
  }

  tell(what: () => string): void {
    this.#trace(what)
  }

  broken(rule: Rule, what: string): void {
    this.#trace(() => `BROKEN: ${rule}: ${what}`)
    if (this.violations.length < 20) this.violations.push({ rule, what })
  }

  landed(log: LogId, entries: readonly Entry[]): void {
    for (const entry of entries) for (const event of seenIn(entry)) this.#event(log, event)
  }

  #event(log: LogId, event: Seen): void {
    this.#trace(
      () =>
        `  journal ${log.task} #${event.taskseq} e${event.epoch} ${event.type} ${event.source.slice('/beaver/daemons/'.length)}`,
    )
    if (event.type === 'task_submitted') this.#submitted(log, event)
    const task = this.tasks.get(log.task)
    if (task === undefined)
      return this.broken('contiguous chained log', `the log of ${log.task} begins with ${event.type}`)
    const before = task.events.at(-1)
    if (event.taskseq !== (before?.taskseq ?? 0) + 1 || event.prevhash !== (before?.hash ?? genesis))
      this.broken(
        'contiguous chained log',
        `${log.task}: event ${event.taskseq} does not follow event ${before?.taskseq ?? 0}`,
      )
    task.events.push(event)
    if (task.ended !== null)
      this.broken(
        'one terminal event, nothing behind it',
        `${log.task}: ${event.type} stands behind ${task.ended}`,
      )
    this.#claim(task, event, before)
    this.#steers(task, event)
    if (isTerminal(event.type)) task.ended = event.type
    if (event.type === 'task_dead_lettered')
      this.broken('no task is given up on', `${log.task}, after ${task.claims.size} claims`)
    this.#ofRun(task, event)
  }

  #submitted(log: LogId, event: Seen): void {
    const there = this.tasks.get(log.task)
    if (there !== undefined)
      this.broken(
        'one id is one task',
        `${log.task} stands in the sessions ${there.log.session} and ${log.session}`,
      )
    else this.tasks.set(log.task, newRecord(log, event.data['previous_task_id'] as string | null))
  }

  #claim(task: TaskRecord, event: Seen, before: Seen | undefined): void {
    if (event.type === 'task_claimed') {
      if (event.epoch <= (before?.epoch ?? 0))
        this.broken(
          'epochs rise',
          `${task.log.task}: epoch ${event.epoch} is claimed after ${before?.epoch ?? 0}`,
        )
      task.claims.set(event.epoch, event.source)
      task.claimedAt = this.#now()
      const previous = task.previous === null ? undefined : this.tasks.get(task.previous)
      if (previous !== undefined && previous.ended === null)
        this.broken('session order', `${task.log.task} is claimed before ${previous.log.task} has ended`)
      return
    }
    if (event.epoch < (before?.epoch ?? 0))
      this.broken(
        'epochs rise',
        `${task.log.task}: event ${event.taskseq} has the older epoch ${event.epoch}`,
      )
    const writer = task.claims.get(event.epoch)
    if (!commands.has(event.type) && event.type !== 'task_submitted' && writer !== event.source)
      this.broken(
        'one writer an epoch',
        `${task.log.task}: ${event.source} writes ${event.type} in epoch ${event.epoch} of ${writer ?? 'nobody'}`,
      )
  }

  #steers(task: TaskRecord, { type, data }: Seen): void {
    const broken = (what: string): void =>
      this.broken('a text that steers is given once', `${task.log.task}: ${what}`)
    if (type === 'task_steer_requested') {
      const id = String(data['request_id'])
      if (task.steers.has(id)) broken(`${id} is requested twice`)
      task.steers.set(id, 'requested')
    }
    if (type === 'user_message_added' && typeof data['steer_request_id'] === 'string') {
      const id = data['steer_request_id']
      if (task.steers.get(id) !== 'requested')
        broken(`${id} is given, and is ${task.steers.get(id) ?? 'requested by nobody'}`)
      task.steers.set(id, 'given')
    }
    if (type === 'task_completed')
      for (const [id, was] of task.steers)
        if (was === 'requested') broken(`the task completes, and was not given ${id}`)
  }

  #ofRun(task: TaskRecord, { type, runId, data, source }: Seen): void {
    const call = `${runId ?? ''} ${String(data['call_id'])}`
    if (type === 'assistant_message_added')
      task.answers.set(runId ?? '', (task.answers.get(runId ?? '') ?? 0) + 1)
    if (type === 'approval_requested') task.asking.add(call)
    if (type === 'approval_granted' || type === 'approval_denied') task.asking.delete(call)
    if (type === 'client_call_requested') {
      if (task.clients.has(call)) this.broken('a client is asked once', `${task.log.task}: ${call} again`)
      task.clients.set(call, 'asked')
      task.asking.add(call)
    }
    if (type === 'client_call_answered') {
      if (task.clients.get(call) !== 'asked')
        this.broken(
          'a client answers once',
          `${task.log.task}: ${call} is ${task.clients.get(call) ?? 'unasked'}`,
        )
      if (task.results.has(call))
        this.broken('a client answers once', `${task.log.task}: ${call} has its result`)
      task.clients.set(call, 'answered')
      task.asking.delete(call)
    }
    if (type === 'tool_call_started') task.started.set(call, source)
    if (type !== 'tool_result_recorded') return
    if (task.results.has(call)) this.broken('one result a call', `${task.log.task}: the call ${call} has two`)
    task.results.add(call)
  }

  /** A loop asks the model for the answer `index` of a run. */
  asked(by: string, of: { task: string; runId: string; index: number }): void {
    const task = this.tasks.get(of.task)
    this.#trace(() => `  ${by} asks for answer ${of.index} of ${of.task}`)
    const owner = this.#ownerNow(task)
    if (task === undefined || ![...task.claims.values()].includes(by))
      return this.broken(
        'nothing is asked before the claim',
        `${by} asks for ${of.task} without a durable claim`,
      )
    if (owner !== by || task.ended !== null) return this.#actsLate(by, task, `asks for answer ${of.index}`)
    if ((task.answers.get(of.runId) ?? 0) > of.index)
      this.broken(
        'no answer is asked for again',
        `${by}, which owns ${of.task}, asks for its answer ${of.index} again`,
      )
  }

  /** A tool takes effect. */
  effect(by: string, of: { task: string; runId: string; callId: string }): void {
    const task = this.tasks.get(of.task)
    const call = `${of.runId} ${of.callId}`
    this.#trace(() => `  ${by}: ${of.callId} of ${of.task} takes effect`)
    if (task?.started.get(call) !== by)
      this.broken('no effect before its durable start', `${by}: ${of.callId} of ${of.task}`)
    const times = (this.#effects.get(call) ?? 0) + 1
    this.#effects.set(call, times)
    if (times > 1) this.broken('one effect a call', `${of.callId} of ${of.task} took effect ${times} times`)
    if (task !== undefined && this.#ownerNow(task) !== by)
      this.#actsLate(by, task, `lets ${of.callId} take effect`)
  }

  /** A daemon may act for a task that it has just lost: its last look is as old as a message takes. */
  #actsLate(by: string, task: TaskRecord, what: string): void {
    this.zombies++
    if (this.#ownerNow(task) === by) return
    const lostMs = this.#now() - task.claimedAt
    if (lostMs > noticedMsMax)
      this.broken(
        'who lost a task notices',
        `${by} ${what} of ${task.log.task}, which another daemon took over ${lostMs} ms ago`,
      )
  }

  #ownerNow(task: TaskRecord | undefined): string | null {
    return task === undefined ? null : ([...task.claims.values()].at(-1) ?? null)
  }

  /**
   * Whether the task, or one before it in its session, waits for a person or has ended: nobody has to do
   * anything about it.
   */
  atRest(task: TaskRecord): boolean {
    if (task.ended !== null || task.asking.size > 0) return true
    const previous = task.previous === null ? undefined : this.tasks.get(task.previous)
    return previous !== undefined && previous.ended === null && this.atRest(previous)
  }
}
