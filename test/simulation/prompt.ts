// Whether what is due begins at once, where nothing keeps it from that: with room for every task and at most
// one daemon out of action. Without faults a task is claimed within `dueMsMax` of when its turn has come, its
// alarm has gone off, or it was decided. What a daemon drove when it died is claimed by another within
// `deadMsMax`; when it hangs or is cut off, within a lease more.
import type { Seen, TaskRecord } from './record.ts'
import type { Scenario } from './scenario.ts'
import type { Watch } from './watch.ts'

export interface Blow {
  /** The source of the daemon it befell. */
  readonly source: string
  readonly kind: string
  readonly atMs: number
}

const dueMsMax = 4_000
const deadMsMax = 4_000
const hungMsMax = 12_000

/** Whether every daemon has room for all tasks. */
const hasRoom = ({ daemons, tasks }: Scenario): boolean =>
  daemons.every(({ tasksMax }) => tasksMax >= tasks.length)

/** @param untilMs when the faults ended: what is later is not looked at */
export function judgePromptness(
  scenario: Scenario,
  of: { watch: Watch; blows: readonly Blow[]; untilMs: number },
): void {
  const { faults, slowMs } = scenario
  const { watch, blows, untilMs } = of
  if (slowMs > 0 || !hasRoom(scenario)) return
  if (faults.length === 0) for (const task of watch.tasks.values()) judgeTurns(task, watch)
  const [blow] = blows
  const isOne = faults.length === 1 && faults[0]?.lasts === true && scenario.daemons.length > 1
  if (!isOne || blow === undefined) return
  const msMax = blow.kind === 'crash' ? deadMsMax : scenario.leaseMs + hungMsMax
  if (blow.atMs + msMax > untilMs) return
  for (const task of watch.tasks.values()) judgeTakeover(task, { blow, msMax, watch })
}

function judgeTurns(task: TaskRecord, watch: Watch): void {
  let dueAt = task.previous === null ? 0 : (watch.tasks.get(task.previous)?.events.at(-1)?.atMs ?? 0)
  let free = true
  for (const event of task.events) {
    if (event.type === 'task_submitted') dueAt = Math.max(dueAt, event.atMs)
    else if (event.type === 'task_suspended') {
      dueAt = Date.parse(event.data['until'] as string)
      free = true
    } else if (event.type === 'task_claimed') {
      if (free && event.atMs > dueAt + dueMsMax)
        watch.broken(
          'what is due begins at once',
          `${task.log.task} is claimed ${event.atMs - dueAt} ms after it was due`,
        )
      free = false
    } else if (free && event.epoch > 0 && event.type !== 'task_steer_requested')
      dueAt = Math.min(dueAt, event.atMs) // a decision or a cancel wakes one that had its turn
  }
}

function judgeTakeover(
  task: TaskRecord,
  { blow, msMax, watch }: { blow: Blow; msMax: number; watch: Watch },
): void {
  const before = task.events.filter(({ atMs }) => atMs <= blow.atMs)
  const last = before.at(-1)
  const owner = ownerOf(before)
  if (
    last === undefined ||
    owner !== blow.source ||
    task.events.some((event) => isOver(event, blow.atMs + msMax))
  )
    return
  // What it had sent before it died may land after that: it let go of the task.
  if (
    task.events.some(({ type, source, atMs }) => source === blow.source && atMs > blow.atMs && isLetGo(type))
  )
    return
  if (
    !task.events.some(
      ({ type, source, atMs }) =>
        type === 'task_claimed' && source !== blow.source && atMs > blow.atMs && atMs <= blow.atMs + msMax,
    )
  )
    watch.broken(
      'a lost daemon is replaced',
      `nobody took ${task.log.task} over within ${msMax} ms of ${blow.kind}`,
    )
}

const isLetGo = (type: string): boolean => type === 'task_released' || type === 'task_suspended'

const isOver = ({ type, atMs }: Seen, untilMs: number): boolean =>
  atMs <= untilMs && ['task_completed', 'task_failed', 'task_cancelled', 'task_incomplete'].includes(type)

function ownerOf(events: readonly Seen[]): string | null {
  let owner: string | null = null
  for (const { type, source } of events) {
    if (type === 'task_claimed') owner = source
    if (isLetGo(type)) owner = null
  }
  return owner
}
