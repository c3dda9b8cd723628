// The questions that calls asked people: those that wait, and those that were answered. Only a call without a
// result, of a run and a task that have not ended, has a question that waits.
import type { AskedQuestionAnswer } from '@beaver/contracts'
import { type Question, takesFreeText } from '@beaver/core/question'
import { clip, excerpt } from '@beaver/core/task-view'
import type { WaitingKey, WaitingScope } from './approvals.ts'
import { type OfUser, ofUser } from './of-user.ts'
import type { tables, TaskRow } from '../store/schema.ts'
import type { Sql } from '../store/sql.ts'
import type { RowOf } from '../store/table.ts'

/** A question with the ids of its task and of its run. */
export type QuestionRow = RowOf<typeof tables.questions> &
  Pick<TaskRow, 'task_id' | 'session_id'> & {
    readonly agent_name: string | null
    readonly team_run_id: string | null
    readonly node_id: string | null
    readonly waits: number
  }

const answerCharsMax = 2_000
const reasonCharsMax = 300

/** Core's `callAsks` in SQL, for a run and a task that have not ended. */
const waits = `(action is null and tool_calls.ended_at is null and runs.ended_at is null and tasks.ended_at is null)`
const columns = `questions.*, tasks.task_id, tasks.session_id, runs.agent_name, runs.team_run_id, runs.node_id, coalesce(${waits}, 0) as waits`
const from = `questions join tasks using (task_key) join tool_calls using (task_key, asked_taskseq, call_index)
  left join runs on runs.task_key = questions.task_key and runs.run_id = questions.run_id`

/**
 * The questions that wait, of one task or of all, oldest first. If there are more than `limit`, one row more
 * is returned.
 */
export function waitingQuestions(
  sql: Sql,
  scope: { taskKey: number | null; tenant: string | null; session: string | null; user: OfUser },
  limit: number,
): QuestionRow[] {
  const [user, values] = ofUser(scope.user, 5)
  return sql.all<QuestionRow>(
    `select ${columns} from ${from} where action is null and (?1 is null or questions.task_key = ?1) and (?2 is null or tenant = ?2) and (?4 is null or session_id = ?4) and ${waits} ${user}
     order by questions.task_key, questions.taskseq limit ?3`,
    [scope.taskKey, scope.tenant, limit + 1, scope.session, ...values],
  )
}

/** Every question that waits, without what it asks, because nobody reads all of them at once. */
export function waitingQuestionKeys(sql: Sql, scope: WaitingScope): WaitingKey[] {
  const [user, values] = ofUser(scope.user, 3)
  return sql.all<WaitingKey>(
    `select questions.rowid as row, questions.task_key, events.taskseq, events.sequence, events.time as asked_at
     from ${from} join events on events.task_key = questions.task_key and events.taskseq = questions.taskseq
     where action is null and (?1 is null or tenant = ?1) and (?2 is null or questions.task_key = ?2) and ${waits} ${user}`,
    [scope.tenant, scope.task, ...values],
  )
}

/** A question, by its key. */
export const questionAt = (sql: Sql, { row }: WaitingKey): QuestionRow =>
  sql.one<QuestionRow>(`select ${columns} from ${from} where questions.rowid = ?`, [row])

/** Every question of a task. Those that wait come first. */
export function questionsOf(sql: Sql, taskKey: number, limit: number): AskedQuestionAnswer[] {
  const text = `select ${columns} from ${from} where questions.task_key = ? order by waits desc, questions.taskseq limit ?`
  return sql.all<QuestionRow>(text, [taskKey, limit]).map(questionView)
}

/** The condition for tasks in which a call asks a person. */
export const somethingAsks = `exists (select 1 from questions join tool_calls using (task_key, asked_taskseq, call_index)
  join runs on runs.task_key = questions.task_key and runs.run_id = questions.run_id where questions.task_key = tasks.task_key and ${waits})`

export function questionView(row: QuestionRow): AskedQuestionAnswer {
  const question = JSON.parse(row.question) as Question
  return {
    task_id: row.task_id,
    session_id: row.session_id,
    run_id: row.run_id,
    agent_name: row.team_run_id === null ? 'Root agent' : row.agent_name,
    node_id: row.node_id,
    call_id: row.call_id,
    tool: row.tool,
    question_index: row.question_index,
    message: question.message,
    options: question.options ?? [],
    free_text: takesFreeText(question),
    several: question.several ?? false,
    form: question.form ?? null,
    state: row.waits === 1 ? 'waiting' : (row.action ?? 'left'),
    asked_at: row.asked_at,
    expires_at:
      question.timeout_ms === undefined
        ? null
        : new Date(Date.parse(row.asked_at) + question.timeout_ms).toISOString(),
    taskseq: row.taskseq,
    answer: row.answer === null ? null : clip(row.answer, answerCharsMax),
    by: row.answered_by === null ? null : excerpt(row.answered_by),
    user_id: row.answered_for === null ? null : excerpt(row.answered_for),
    reason: row.reason === null ? null : clip(row.reason, reasonCharsMax),
    answered_at: row.answered_at,
  }
}
