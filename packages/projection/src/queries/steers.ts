// The texts with which a task was steered, for the query `task`.
import type { TaskAnswer } from '@beaver/contracts'
import { clip } from '@beaver/core'
import type { Sql } from '../store/sql.ts'

const textCharsMax = 1_000

export function steersOf(sql: Sql, taskKey: number): TaskAnswer['steers'] {
  const rows = sql.all<{
    taskseq: number
    request_id: string
    given_taskseq: number | null
    time: string
    data: string | null
  }>(
    `select steers.taskseq, steers.request_id, steers.given_taskseq, events.time, events.data from steers
       join events on events.task_key = steers.task_key and events.taskseq = steers.taskseq where steers.task_key = ? order by steers.taskseq`,
    [taskKey],
  )
  return rows.map(({ data, time, ...row }) => {
    const {
      text,
      by = null,
      user_id = null,
    } = JSON.parse(data ?? '{"text":""}') as { text: string; by?: string; user_id?: string }
    return { ...row, text: clip(text, textCharsMax), text_chars: text.length, by, user_id, at: time }
  })
}
