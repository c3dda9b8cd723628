// Folds the texts with which a task is steered: requested, and given to the root agent. The texts themselves
// are in the events.
import type { DataOf } from '@beaver/core'
import type { HeldTask } from './batch.ts'
import type { Place } from './fold.ts'

export function steerRequested(
  { sql, key }: HeldTask,
  at: Place,
  { request_id }: DataOf<'task_steer_requested'>,
): void {
  sql.run('insert into steers (task_key, taskseq, request_id) values (?, ?, ?)', [
    key,
    at.taskseq,
    request_id,
  ])
}

export function steerGiven(
  { sql, key }: HeldTask,
  at: Place,
  { steer_request_id }: DataOf<'user_message_added'>,
): void {
  if (steer_request_id === undefined) return
  sql.run(
    'update steers set given_taskseq = ? where task_key = ? and request_id = ? and given_taskseq is null',
    [at.taskseq, key, steer_request_id],
  )
}
