// `prompt`: what a run sent to its model for one answer. The run is folded from its events up to the answer, as
// the daemon that asked had it, and the history of its session is read as the daemon read it. A text that was
// redacted is not in the events, so it is not in the answer.
import type { QueryRead, SentMessage } from '@beaver/contracts'
import {
  canonicalJson,
  type ChatMessage,
  type DataOf,
  type DomainEvent,
  type JsonValue,
  type TaskId,
} from '@beaver/core'
import { evolveRun, nextMessages, nextToolNames, type RunState, startRun } from '@beaver/core/fold'
import {
  exchangeMessages,
  exchangeOf,
  type PastExchange,
  type PastTask,
  visibleHistoryNow,
} from '@beaver/core/journal'
import type { Failure } from '@beaver/core/supervision'
import { clip } from '@beaver/core/task-view'
import { findTask, type FoundTask } from './find-task.ts'
import { page } from './page.ts'
import { noSuchRun } from './query-node.ts'
import { refusal } from './of-node.ts'
import { readable } from './query-timeline.ts'
import type { Query } from './query.ts'
import type { RunRow } from '../store/schema.ts'
import type { Sql } from '../store/sql.ts'
import { parsedOrNull } from './usage.ts'

const textCharsMax = 20_000
const schemaCharsMax = 20_000

export const prompt: Query<'prompt'> = (sql, input) => {
  const found = findTask(sql, input)
  const row = sql.get<Named>(
    'select run_id, team_run_id, started_taskseq, context from runs where task_key = ? and run_id = ?',
    [found.task_key, input.run_id],
  )
  if (row === undefined) throw noSuchRun(found.task_id, input.run_id)
  const asked = askedAt(sql, found, input)
  const folded = folding(sql, found.task_key, row, asked?.taskseq ?? null)
  const history = row.team_run_id === null ? historyOf(sql, found) : []
  const sent = folded.asksModel ? messagesOf(folded.run, history) : []
  const before = folded.before === null ? null : messagesOf(folded.before, history)
  const taskOf = new Map(history.map(({ message, task }) => [message, task]))
  const asIndexed = sent.map((message, index) => ({ message, index })).slice(input.after)
  const {
    items: messages,
    more,
    next,
  } = page(asIndexed, input.limit, {
    item: ({ message, index }) =>
      messageView(message, index, { taskseq: folded.madeAt(message), task_id: taskOf.get(message) }),
    cursor: ({ index }) => index + 1,
  })
  return {
    task_id: found.task_id,
    session_id: found.session_id,
    tenant: found.tenant,
    run_id: row.run_id,
    taskseq: asked?.taskseq ?? null,
    provider: asked?.provider ?? null,
    model: asked?.model ?? null,
    settings: settingsOf(folded.run),
    tools:
      folded.run === null || !folded.asksModel ? [] : [...nextToolNames(folded.run, asked?.provider ?? null)],
    context: parsedOrNull(row.context),
    input_tokens: asked?.inputTokens ?? null,
    message_count: sent.length,
    same_until: before === null ? null : sameUntil(before, sent),
    unreadable_events: folded.unreadable,
    messages,
    more,
    next,
  }
}

type Named = Pick<RunRow, 'run_id' | 'team_run_id' | 'started_taskseq' | 'context'>

// The call of the model: an answer, or a try that failed.

interface AskedModel {
  readonly taskseq: number
  readonly provider: string | null
  readonly model: string | null
  readonly inputTokens: number | null
}

/** What nobody who may sign has signed counts for nothing. */
const trusted =
  "not exists (select 1 from audit_findings where audit_findings.task_key = events.task_key and audit_findings.sequence = events.sequence and kind = 'signature')"
const outcomes = "type in ('assistant_message_added', 'provider_call_failed')"
/** No model gave an answer that is a team's text. */
const byModel = "json_extract(data, '$.delivered_from') is null"

/**
 * The call that is asked for, or the newest one. `null`: the run has none.
 *
 * @throws {BeaverError} `invalid_arguments` if another event is at the place
 */
function askedAt(
  sql: Sql,
  { task_key: key, task_id }: FoundTask,
  { run_id, taskseq }: Pick<QueryRead<'prompt'>, 'run_id' | 'taskseq'>,
): AskedModel | null {
  const columns = `select taskseq, json_extract(data, '$.provider_name') as provider, json_extract(data, '$.model') as model,
    json_extract(data, '$.usage.input_tokens') as inputTokens from events`
  const found =
    taskseq === undefined
      ? sql.get<AskedModel>(
          `${columns} where task_key = ? and run_id = ? and ${outcomes} and ${byModel} and ${trusted} order by taskseq desc limit 1`,
          [key, run_id],
        )
      : sql.get<AskedModel>(
          `${columns} where task_key = ? and taskseq = ? and run_id = ? and ${outcomes} and ${byModel} and ${trusted}`,
          [key, taskseq, run_id],
        )
  if (found !== undefined) return { ...found }
  if (taskseq === undefined) return null
  throw refusal(
    'taskseq',
    `The event ${taskseq} of the task ${task_id} is no answer of a model to the run ${JSON.stringify(run_id)}, and no call of its model that failed.`,
  )
}

// The run as it was when it asked.

interface Folded {
  /** `null`: its beginning is lost. */
  readonly run: RunState | null
  /** As it was when it asked for the answer before. `null`: there was none. */
  readonly before: RunState | null
  /** Whether the run asks a model. That of a tool node does not. */
  readonly asksModel: boolean
  /** The event that gave a message its text. */
  madeAt(message: ChatMessage): number | null
  readonly unreadable: number
}

interface EventRow {
  readonly taskseq: number
  readonly type: string
  readonly data: string | null
}

/** Each other event only adds messages at the end. */
const changesEarlier: ReadonlySet<string> = new Set([
  'system_prompt_snapshotted',
  'context_compacted',
  'context_summarized',
])

/** @param until the taskseq of the answer. `null`: all events count */
function folding(
  sql: Sql,
  key: number,
  { run_id: id, started_taskseq: from }: Named,
  until: number | null,
): Folded {
  const rows = sql.each<EventRow>(
    `select taskseq, type, data from events where task_key = ? and taskseq >= ? and taskseq < ? and run_id = ? and ${trusted} order by taskseq`,
    [key, from, until ?? Number.MAX_SAFE_INTEGER, id],
  )
  const made = new Map<ChatMessage, number>()
  const results = new Map<string, number>()
  let run: RunState | null = null
  let before: RunState | null = null
  let asksModel = true
  let unreadable = 0
  /** The choice of a mode stands before the answer with which it was made. */
  let chosen: { readonly event: DomainEvent; readonly taskseq: number } | null = null
  for (const row of rows) {
    const event = readable(row)
    if (event === null) {
      unreadable++
      continue
    }
    if (event.type === 'run_started') {
      run = startRun(event.data)
      continue
    }
    if (run === null) continue
    if (event.type === 'execution_mode_selected') {
      chosen = { event, taskseq: row.taskseq }
      continue
    }
    if (event.type === 'tool_call_requested') asksModel = false
    if (event.type === 'tool_result_recorded') results.set(event.data.call_id, row.taskseq)
    if (event.type === 'assistant_message_added' && event.data.delivered_from === undefined) before = run
    if (chosen !== null) run = evolveRun(run, chosen.event, chosen)
    chosen = null
    const known: readonly ChatMessage[] = run.messages
    run = evolveRun(run, event, row)
    if (run.messages === known) continue
    for (const message of changesEarlier.has(event.type) ? run.messages : run.messages.slice(known.length)) {
      if (made.has(message)) continue
      const isResult = event.type === 'tool_result_recorded' && message.role === 'tool'
      made.set(message, (isResult ? results.get(message.tool_call_id) : undefined) ?? row.taskseq)
    }
  }
  return { run, before, asksModel, unreadable, madeAt: (message) => made.get(message) ?? null }
}

function messagesOf(run: RunState | null, history: readonly Told[]): readonly ChatMessage[] {
  if (run === null) return []
  // The place of the history is known once the run has its own message.
  if (run.status === 'assembling') return run.messages
  return nextMessages(
    run,
    history.map(({ message }) => message),
  )
}

function settingsOf(run: RunState | null): {
  model: string | null
  model_settings: NonNullable<DataOf<'run_started'>['model_settings']> | null
  output_schema: JsonValue
} {
  const { model, model_settings, output_schema: schema } = run?.start ?? {}
  return {
    model: model ?? null,
    model_settings: model_settings ?? null,
    output_schema: schema === undefined || JSON.stringify(schema).length > schemaCharsMax ? null : schema,
  }
}

function sameUntil(before: readonly ChatMessage[], now: readonly ChatMessage[]): number {
  const differs = now.findIndex((message, i) => {
    const earlier = before[i]
    return (
      earlier === undefined ||
      (earlier !== message && canonicalJson(earlier as JsonValue) !== canonicalJson(message as JsonValue))
    )
  })
  return differs === -1 ? now.length : differs
}

// The history of the session, which a root is given.

interface Told {
  readonly message: ChatMessage
  /** The task whose history it is. Absent: the request of this task has it. */
  readonly task?: string
}

function historyOf(sql: Sql, task: FoundTask): readonly Told[] {
  const own = submittedOf(sql, task.task_key)
  if (own === null) return []
  const { request, previous_task_id } = own.submitted
  const copied = request.retry_of === undefined ? null : copyOf(sql, task.task_key)
  const newest = request.history_until ?? (copied === null ? previous_task_id : copied.previous_task_id)
  const exchanges = visibleHistoryNow(newest, (id) => exchangeIn(sql, task, id), {
    user: request.user_id ?? null,
  })
  return [
    ...exchanges.flatMap((each) => exchangeMessages(each).map((message) => ({ message, task: each.task }))),
    ...(request.history ?? []).map((message) => ({ message })),
  ]
}

/** What a retry has of the task that it retries: it continues the history of that task. */
function copyOf(sql: Sql, key: number): DataOf<'task_log_copied'> | null {
  const row = sql.get<EventRow>(
    "select taskseq, type, data from events where task_key = ? and type = 'task_log_copied' order by taskseq limit 1",
    [key],
  )
  const event = row === undefined ? null : readable(row)
  return event?.type === 'task_log_copied' ? event.data : null
}

function exchangeIn(sql: Sql, { tenant, session_id }: FoundTask, id: TaskId): PastExchange | null {
  const row = sql.get<{
    task_key: number
    ended_at: string | null
    final_output: string | null
    failure_class: string | null
    failure_message: string | null
  }>(
    'select task_key, ended_at, final_output, failure_class, failure_message from tasks where tenant = ? and session_id = ? and task_id = ?',
    [tenant, session_id, id],
  )
  const past = row === undefined ? null : submittedOf(sql, row.task_key)
  if (row === undefined || past === null) return null
  const failure =
    row.failure_class === null
      ? null
      : { class: row.failure_class as Failure['class'], message: row.failure_message ?? '' }
  return exchangeOf({
    ...past,
    end:
      row.ended_at === null
        ? null
        : { result: { final_output: row.final_output ?? '', failure }, at: row.ended_at },
  })
}

function submittedOf(sql: Sql, key: number): Pick<PastTask, 'submitted' | 'submittedAt'> | null {
  const row = sql.get<EventRow & { readonly time: string }>(
    'select taskseq, type, data, time from events where task_key = ? and taskseq = 1',
    [key],
  )
  const event = row === undefined ? null : readable(row)
  return event?.type === 'task_submitted' && row !== undefined
    ? { submitted: event.data, submittedAt: row.time }
    : null
}

// A message as it is shown.

function messageView(
  message: ChatMessage,
  index: number,
  from: { readonly taskseq: number | null; readonly task_id?: string | undefined },
): SentMessage {
  const { taskseq, task_id } = from
  return {
    index,
    role: message.role,
    content: message.content === null ? null : clip(message.content, textCharsMax),
    content_chars: message.content?.length ?? 0,
    ...(message.role === 'assistant' ? answerView(message) : {}),
    ...(message.role === 'tool' ? { call_id: message.tool_call_id } : {}),
    ...('images' in message && message.images !== undefined ? { images: [...message.images] } : {}),
    taskseq,
    ...(task_id === undefined ? {} : { task_id }),
  }
}

function answerView({
  tool_calls: calls = [],
  provider_state,
}: Extract<ChatMessage, { role: 'assistant' }>): Pick<SentMessage, 'calls' | 'provider_state'> {
  let left = textCharsMax
  const shown = calls.map(({ id, name, arguments: args }) => {
    const cut = clip(args, left)
    left -= cut.length
    return { call_id: id, tool: name, arguments: cut, arguments_chars: args.length }
  })
  return {
    ...(shown.length === 0 ? {} : { calls: shown }),
    ...(provider_state === undefined ? {} : { provider_state: true }),
  }
}
