// The rules a campaign holds the system to after everything has settled, beyond those of @beaver/check, which reads the journal
// alone: the ledger of the tools, the questions of the model and what clients were told agree with the journal.
// K1. A violation names its task and what it breaks. K2. What the campaign itself caused is no violation: a cancelled task may
//     end as cancelled, a task with a bad tool may fail, a task of a deleted stream is gone, one that wrote while the server took
//     small messages only may fail for that.
import type { TaskLog } from './logs.ts'
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
  readonly model: { readonly answered: ReadonlyMap<string, Asked>; readonly byQuestion: ReadonlyMap<string, readonly Asked[]> }
}

/** An answer counts as stored so long after the time its event names: the event is stamped before it is written. */
const commitMsMax = 250

export function checkCampaign({ logs, expected, ledger, model, smallMessages }: CheckedCampaign): Violation[] {
  const byTask: ReadonlyMap<string, readonly TaskLog[]> = Map.groupBy(logs, ({ id }) => id.task)
  return [
    ...expected.flatMap((task) => checkExpected(task, byTask.get(task.task) ?? [], smallMessages)),
    ...logs.flatMap((log) => checkLog(log, model)),
    ...checkLedger(ledger, byTask),
  ]
}

function checkExpected({ task, accepted, anyEnd, kind }: ExpectedTask, logs: readonly TaskLog[], smallMessages: boolean): Violation[] {
  if (logs.length > 1) return [{ rule: 'one task an id', task, what: `${logs.length} sessions have it: ${logs.map(({ id }) => id.session).join(', ')}` }]
  const [log] = logs
  if (log === undefined) return accepted ? [{ rule: 'accepted is kept', task, what: `the ${kind} was accepted and has no log` }] : []
  if (log.end === null || anyEnd || log.end === 'task_completed') return []
  if (smallMessages && log.end === 'task_failed' && log.failure === 'internal') return []
  return [{ rule: 'innocent tasks complete', task, what: `the ${kind} ended ${log.end} (${log.failure ?? 'no failure named'}) after ${log.claims} claims` }]
}

/** What @beaver/check, which reads the journal alone, cannot know. */
function checkLog(log: TaskLog, model: CheckedCampaign['model']): Violation[] {
  const { task } = log.id
  const found: Violation[] = []
  const breaks = (rule: string, what: string): void => void found.push({ rule, task, what })
  if (log.end === null) breaks('every task ends', `it is open after ${log.claims} claims, owner ${log.owner ?? 'nobody'}: ${log.types.slice(-6).join(' ')}`)
  for (const { responseId, time } of log.answers) {
    const answer = model.answered.get(responseId)
    const again = answer === undefined ? [] : (model.byQuestion.get(answer.question) ?? []).filter(({ at }) => at > time + commitMsMax)
    for (const { at, responseId: second } of again)
      breaks('no answer is asked for again', `${responseId} was in the journal when ${second} was asked for, ${at - time} ms later`)
  }
  return found
}

/** Keys are `<operation>/<part>/<turn>`; the operation is the task's id. */
function checkLedger(ledger: readonly LedgerLine[], byTask: ReadonlyMap<string, readonly TaskLog[]>): Violation[] {
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
    const told = logs.flatMap(({ calls }) => [...calls.values()].filter(({ tool, succeeded }) => succeeded === true && tool === 'ledger_write'))
    const done = once.filter(({ tool, key }) => tool === 'ledger_write' && key.startsWith(`${task}/`)).length
    if (done < told.length) found.push({ rule: 'a result has its effect', task, what: `${told.length} results, ${done} effects` })
  }
  return found
}
