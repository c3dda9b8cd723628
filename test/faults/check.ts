// The rules a campaign holds the system to after everything has settled, beyond those of @beaver/check, which
// reads the journal alone: the ledger of the tools, the questions of the model and what clients were told
// agree with the journal. A violation names its task and what it breaks. What the campaign itself caused is
// no violation: a cancelled task may end as cancelled, a task with a bad tool may fail, a task of a deleted
// stream is gone, one that wrote while the server took small messages only may fail for that. A daemon that
// is stopped between its last look at the journal and the write of a question asks it when it goes on;
// nothing can fence that (docs/decisions/0032). One such question for each stop is no violation. A daemon
// that does not look asks many.
import { timesOf, type TaskLog } from './logs.ts'
import type { Asked } from './model.ts'

export interface Violation {
  readonly rule: string
  readonly task: string
  readonly what: string
}

/** What the campaign knows of a task it asked for. */
export interface ExpectedTask {
  readonly task: string
  readonly kind: string
  /** `accepted`: Beaver said so; `unknown`: no answer came. */
  readonly accepted: boolean
  /** It may end in any way. */
  readonly anyEnd: boolean
}

export interface LedgerLine {
  readonly tool: string
  readonly key: string
  readonly pid: number
  readonly at: number
}

export interface CheckedCampaign {
  /** For a while the server took small messages only. */
  readonly smallMessages: boolean
  readonly logs: readonly TaskLog[]
  readonly expected: readonly ExpectedTask[]
  readonly ledger: readonly LedgerLine[]
  /** When a stopped daemon went on. */
  readonly thaws: readonly number[]
  readonly model: {
    readonly answered: ReadonlyMap<string, Asked>
    readonly byQuestion: ReadonlyMap<string, readonly Asked[]>
  }
}

/**
 * An answer counts as stored so long after the time its event names: the event is stamped before it is
 * written.
 */
const commitMsMax = 250
/** A daemon that goes on has written what it was about to write so long after. */
const thawMsMax = 1_000

export function checkCampaign({
  logs,
  expected,
  ledger,
  model,
  thaws,
  smallMessages,
}: CheckedCampaign): Violation[] {
  const byTask: ReadonlyMap<string, readonly TaskLog[]> = Map.groupBy(logs, ({ id }) => id.task)
  return [
    ...expected.flatMap((task) => checkExpected(task, byTask.get(task.task) ?? [], smallMessages)),
    ...logs.flatMap((log) => checkEnd(log)),
    ...checkAsked(logs, model, thaws),
    ...checkLedger(ledger, byTask),
  ]
}

function checkExpected(
  { task, accepted, anyEnd, kind }: ExpectedTask,
  logs: readonly TaskLog[],
  smallMessages: boolean,
): Violation[] {
  if (logs.length > 1)
    return [
      {
        rule: 'one task an id',
        task,
        what: `${logs.length} sessions have it: ${logs.map(({ id }) => id.session).join(', ')}`,
      },
    ]
  const [log] = logs
  if (log === undefined)
    return accepted
      ? [{ rule: 'accepted is kept', task, what: `the ${kind} was accepted and has no log` }]
      : []
  if (log.end === null || anyEnd || log.end === 'task_completed') return []
  if (smallMessages && log.end === 'task_failed' && log.failure === 'internal') return []
  return [
    {
      rule: 'innocent tasks complete',
      task,
      what: `the ${kind} ended ${log.end} (${log.failure ?? 'no failure named'}) after ${log.claims} claims`,
    },
  ]
}

function checkEnd(log: TaskLog): Violation[] {
  if (log.end !== null) return []
  return [
    {
      rule: 'every task ends',
      task: log.id.task,
      what: `it is open after ${log.claims} claims, owner ${log.owner ?? 'nobody'}: ${timesOf(log)}`,
    },
  ]
}

function checkAsked(
  logs: readonly TaskLog[],
  model: CheckedCampaign['model'],
  thaws: readonly number[],
): Violation[] {
  const unused = [...thaws]
  const excused = (at: number): boolean => {
    const stop = unused.findIndex((thaw) => at >= thaw && at <= thaw + thawMsMax)
    if (stop >= 0) unused.splice(stop, 1)
    return stop >= 0
  }
  return logs.flatMap((log) =>
    log.answers.flatMap(({ responseId, time }) => {
      const answer = model.answered.get(responseId)
      const again =
        answer === undefined
          ? []
          : (model.byQuestion.get(answer.question) ?? []).filter(
              ({ at }) => at > time + commitMsMax && !excused(at),
            )
      return again.map(({ at, responseId: second }) => ({
        rule: 'no answer is asked for again',
        task: log.id.task,
        what: `${responseId} was in the journal when ${second} was asked for, ${at - time} ms later: ${timesOf(log)}`,
      }))
    }),
  )
}

/** Keys are `<operation>/<part>/<turn>`; the operation is the task's id. */
function checkLedger(
  ledger: readonly LedgerLine[],
  byTask: ReadonlyMap<string, readonly TaskLog[]>,
): Violation[] {
  const once = ledger.filter(({ tool }) => tool !== 'ledger_touch')
  const found: Violation[] = []
  for (const [key, lines] of Map.groupBy(once, ({ key }) => key)) {
    if (lines.length > 1)
      found.push({
        rule: 'an effect happens once',
        task: key.split('/')[0] ?? '',
        what: `${lines[0]?.tool} ${key}: ${lines.length} times within ${(lines.at(-1)?.at ?? 0) - (lines[0]?.at ?? 0)} ms, processes ${lines.map(({ pid }) => pid).join(', ')}`,
      })
  }
  for (const [task, logs] of byTask) {
    const told = logs.flatMap(({ calls }) =>
      [...calls.values()].filter(({ tool, succeeded }) => succeeded === true && tool === 'ledger_write'),
    )
    const done = once.filter(({ tool, key }) => tool === 'ledger_write' && key.startsWith(`${task}/`)).length
    if (done < told.length)
      found.push({ rule: 'a result has its effect', task, what: `${told.length} results, ${done} effects` })
  }
  return found
}
