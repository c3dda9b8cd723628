// `approvals`: the calls that wait for a person, oldest first. Of one task, or of all.
import { z } from 'zod'
import { callView, waitingCalls } from './approvals.ts'
import { findTask, taskName } from './find-task.ts'
import { page } from './page.ts'
import { limitOf, query } from './query.ts'

const argumentsCharsMax = 4_000

export const approvals = query(z.strictObject({ ...taskName, task: taskName.task.optional(), limit: limitOf({ usual: 50, max: 200 }) }), (sql, input) => {
  const found = input.task === undefined ? null : findTask(sql, { ...input, task: input.task })
  const rows = waitingCalls(sql, { taskKey: found?.task_key ?? null, tenant: input.tenant ?? null }, input.limit)
  const { items, more } = page(rows, input.limit, { item: (row) => callView(row, argumentsCharsMax), cursor: (row) => row.approval_requested_taskseq })
  return { task_id: found?.task_id ?? null, calls: items, more }
})
