// `approvals`: the calls that wait for a person, oldest first, of one task or of all.
import { callView, waitingCalls } from './approvals.ts'
import { findTask } from './find-task.ts'
import { page } from './page.ts'
import type { Query } from './query.ts'

const argumentsCharsMax = 4_000

export const approvals: Query<'approvals'> = (sql, input) => {
  const found = input.task_id === undefined ? null : findTask(sql, { ...input, task_id: input.task_id })
  const rows = waitingCalls(
    sql,
    {
      taskKey: found?.task_key ?? null,
      tenant: input.tenant ?? null,
      session: input.session_id ?? null,
      user: input.user_id,
    },
    input.limit,
  )
  const { items, more } = page(rows, input.limit, {
    item: (row) => callView(row, argumentsCharsMax),
    cursor: (row) => row.approval_requested_taskseq,
  })
  return { task_id: found?.task_id ?? null, calls: items, more }
}
