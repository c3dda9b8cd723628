// `questions`: the questions that wait for an answer, oldest first, of one task or of all.
import { questionView, waitingQuestions } from './asked-questions.ts'
import { findTask } from './find-task.ts'
import { page } from './page.ts'
import type { Query } from './query.ts'

export const questions: Query<'questions'> = (sql, input) => {
  const found = input.task_id === undefined ? null : findTask(sql, { ...input, task_id: input.task_id })
  const rows = waitingQuestions(
    sql,
    {
      taskKey: found?.task_key ?? null,
      tenant: input.tenant ?? null,
      session: input.session_id ?? null,
      user: input.user_id,
    },
    input.limit,
  )
  const { items, more } = page(rows, input.limit, { item: questionView, cursor: (row) => row.taskseq })
  return { task_id: found?.task_id ?? null, questions: items, more }
}
