// A small task as a daemon writes it: it was submitted, claimed, and completed.
import { type DomainEvent, event, type LogId, type SessionId, type TaskId } from '@beaver/core'
import { draft, emptyHead, joinBatch, type LogHead, seal } from '@beaver/core/journal'
import type { NatsJournal } from '@beaver/nats'

const logNamed = (task: string): LogId => ({
  tenant: 'local',
  session: task as SessionId,
  task: task as TaskId,
})

const usage = { input_tokens: 1, output_tokens: 1, calls: 1 }

/** Writes a task of three entries. @param text what it asks for */
export async function writeTask(journal: NatsJournal, task: string, text = 'x'): Promise<void> {
  const log = logNamed(task)
  const request = { text, workspace: '/', skill: null, source: 'test' }
  const events: DomainEvent[] = [
    event('task_submitted', {
      task_id: log.task,
      session_id: log.session,
      tenant: log.tenant,
      previous_task_id: null,
      request,
    }),
    event('task_claimed', { daemon: 'daemon_1' }),
    event('task_completed', {
      final_output: 'done',
      outputs: [],
      usage,
      provider: 'simulated',
      model: 'm',
      simulated: true,
      failure: null,
    }),
  ]
  let head: LogHead = emptyHead
  const payloads = events.map((each, i) => {
    const sealed = seal(head, draft(each), {
      epoch: i === 0 ? 0 : 1,
      source: '/d',
      subject: task,
      time: '2026-01-01T00:00:00.000Z',
    })
    head = sealed.head
    return joinBatch([sealed.record])
  })
  const [first = new Uint8Array(), ...later] = payloads
  const accepted = await journal.accept({ log, payloads: [first], tail: { task: null, revision: 0 } })
  if (accepted.kind !== 'accepted') throw new Error(accepted.kind)
  let revision = 0
  for (const payload of later) {
    const outcome = await journal.append({ log, expectedRevision: revision, payloads: [payload] })
    if (outcome.kind !== 'appended') throw new Error(outcome.kind)
    revision = outcome.revision
  }
}
