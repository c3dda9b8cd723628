// Decides whether a record follows the previous one (docs/decisions/0007), and whether its writer may write
// it. After a fault, the log continues from the record's own statements, so that one break is one finding.
import { commandTypes } from './event.ts'
import type { ReadRecord, WireRecord } from './record.ts'
import type { Report } from './rules.ts'
import type { Trail } from './trail.ts'

export function judgeChain(trail: Trail, { record, sha256 }: ReadRecord, report: Report): void {
  const { head, log } = trail
  const { taskseq, epoch, prevhash, hash } = record
  if (taskseq !== head.taskseq + 1) report('taskseq', `event ${taskseq} follows event ${head.taskseq}`)
  else if (prevhash !== head.hash)
    report('chain', `event ${taskseq} names another hash than that of the event before it`)
  if (hash !== sha256) report('hash', `event ${taskseq} does not have the content that its hash says`)
  if (record.subject !== log.task)
    report(
      'identity',
      `event ${taskseq} is of the task ${record.subject}, and lies in the log of ${log.task}`,
    )
  else if (record.id !== `${log.task}/${epoch}.${taskseq}`)
    report('identity', `event ${taskseq} has the id ${record.id}`)
  trail.head = { taskseq, epoch, hash }
  trail.lastTime = record.time
}

/** `before` is the epoch of the previous record. */
export function judgeWriter(
  trail: Trail,
  record: WireRecord,
  type: string | null,
  before: number,
  report: Report,
): void {
  if (type === 'task_claimed') return judgeClaim(trail, record, report)
  const { epoch, source, taskseq } = record
  if (epoch < before) report('epoch', `event ${taskseq} has epoch ${epoch}, after epoch ${before}`)
  else if (epoch > before)
    report('epoch', `event ${taskseq} has epoch ${epoch} after epoch ${before}, without a claim`)
  if (type === 'task_submitted') {
    trail.epochSource ??= source
    return
  }
  const command = type !== null && commandTypes.has(type)
  if (source !== trail.epochSource) {
    if (command) trail.overwritten = true
    else
      report(
        'source',
        `event ${taskseq} was written by ${source}, in the epoch of ${trail.epochSource ?? 'nobody'}`,
      )
  } else if (trail.overwritten && !command) {
    report(
      'source',
      `event ${taskseq} was written by ${source} after another daemon had written into its epoch`,
    )
  }
  if (!command && trail.owner === null)
    report('unowned', `${type ?? record.type} (event ${taskseq}) was written while nobody owned the task`)
}

function judgeClaim(trail: Trail, { epoch, source, taskseq }: WireRecord, report: Report): void {
  if (epoch <= trail.claimedEpoch)
    report(
      'claim',
      `event ${taskseq} claims the task with epoch ${epoch}, after a claim with epoch ${trail.claimedEpoch}`,
    )
  trail.claimedEpoch = Math.max(trail.claimedEpoch, epoch)
  trail.epochSource = source
  trail.overwritten = false
}
