// The rows of a batch while it is applied. Tasks, runs, calls and usage are held in memory (`HeldRows`);
// all others are written at once. A task, a run or a call is read from its table at most once in a batch, and
// not at all if its task is new in the batch. `task_key` numbers the logs in the order in which the stream
// first named them.
import { type LogId, logKey } from '@beaver/core'
import { emptyHead } from '@beaver/core/journal'
import {
  type CallRow,
  type DayUsageRow,
  type RunRow,
  skillNames,
  tables,
  type TaskNameKind,
  type TaskRow,
  unindexedTasks,
  type UsageRow,
} from '../store/schema.ts'
import type { Sql } from '../store/sql.ts'
import { insert, insertIfNew, type NeededOf, type RowOf, type Table, update } from '../store/table.ts'

/** The place of an event. */
export interface Place {
  readonly taskKey: number
  readonly taskseq: number
  readonly time: string
  readonly runId: string | null
}

export class Batch {
  readonly sql: Sql
  readonly #tasks: HeldRows<Tables['tasks']>
  readonly #runs: HeldRows<Tables['runs']>
  readonly #calls: HeldRows<Tables['tool_calls']>
  readonly #usage: HeldRows<Tables['model_usage']>
  readonly #dayUsage: HeldRows<Tables['usage_by_day']>
  readonly #byDay = new Map<string, DayUsageRow>()
  readonly #byLog = new Map<string, HeldTask>()
  /** How many more tasks of each status there are after the batch. */
  readonly #counts = new Map<string, number>()
  #lastKey: number | null = null

  constructor(sql: Sql) {
    this.sql = sql
    this.#tasks = new HeldRows(sql, tables.tasks)
    this.#runs = new HeldRows(sql, tables.runs)
    this.#calls = new HeldRows(sql, tables.tool_calls)
    this.#usage = new HeldRows(sql, tables.model_usage)
    this.#dayUsage = new HeldRows(sql, tables.usage_by_day)
  }

  /** The task of a log. A log that has no row yet gets one. */
  task(log: LogId): HeldTask {
    const key = logKey(log)
    let held = this.#byLog.get(key)
    if (held === undefined) {
      const { tenant, session, task } = log
      const found = this.sql.get<TaskRow>(
        'select * from tasks where tenant = ? and session_id = ? and task_id = ?',
        [tenant, session, task],
      )
      const row = found ?? this.#newTask(log)
      if (found !== undefined) this.#count(found.status, -1)
      held = new HeldTask(row, found === undefined, {
        sql: this.sql,
        tasks: this.#tasks,
        runs: this.#runs,
        calls: this.#calls,
        usage: this.#usage,
        usageOf: (day) => this.#usageOf(day),
      })
      this.#byLog.set(key, held)
    }
    return held
  }

  /** What all tasks of a user used of a model on a day, for changes. */
  #usageOf(of: UsageOfDay): DayUsageRow {
    const { day, tenant, user_id, workflow, skill, profile, provider, model } = of
    const values = [day, tenant, user_id, workflow, skill, profile, provider, model]
    const key = JSON.stringify(values)
    let row = this.#byDay.get(key)
    if (row === undefined) {
      const text =
        'select * from usage_by_day where day = ? and tenant = ? and user_id = ? and workflow = ? and skill = ? and profile = ? and provider = ? and model = ?'
      const found = this.sql.get<DayUsageRow>(text, values)
      row = found ?? this.#dayUsage.add({ ...tables.usage_by_day.initial, ...of })
      this.#byDay.set(key, row)
    }
    this.#dayUsage.changed(row)
    return row
  }

  #newTask({ tenant, session, task }: LogId): TaskRow {
    const task_key = this.#nextKey()
    this.sql.run(
      `insert into sessions (tenant, session_id, tasks, first_key, newest_key) values (?1, ?2, 1, ?3, ?3)
       on conflict (session_id, tenant) do update set tasks = tasks + 1, newest_key = ?3`,
      [tenant, session, task_key],
    )
    insertIfNew(this.sql, unindexedTasks, { task_key })
    return this.#tasks.add({
      ...tables.tasks.initial,
      task_key,
      tenant,
      session_id: session,
      task_id: task,
      head_hash: emptyHead.hash,
    })
  }

  /** The task of a log; `null` if the log has no row, because nothing of it is a record yet. */
  knownTask(log: LogId): HeldTask | null {
    const { tenant, session, task } = log
    const known =
      this.#byLog.has(logKey(log)) ||
      this.sql.get('select 1 from tasks where tenant = ? and session_id = ? and task_id = ?', [
        tenant,
        session,
        task,
      ]) !== undefined
    return known ? this.task(log) : null
  }

  /** Writes the held rows. */
  save(): void {
    for (const task of this.#byLog.values()) this.#count(task.row.status, 1)
    for (const [status, n] of this.#counts) {
      if (n !== 0)
        this.sql.run(
          'insert into task_counts (status, n) values (?1, ?2) on conflict (status) do update set n = n + ?2',
          [status, n],
        )
      if (n < 0) this.sql.run('delete from task_counts where status = ? and n = 0', [status])
    }
    for (const rows of [this.#tasks, this.#runs, this.#calls, this.#usage, this.#dayUsage]) rows.save()
  }

  /** The rows of the tasks that the batch changed. */
  changed(): readonly Readonly<TaskRow>[] {
    return [...this.#byLog.values()].map(({ row }) => row)
  }

  #count(status: string, by: number): void {
    this.#counts.set(status, (this.#counts.get(status) ?? 0) + by)
  }

  #nextKey(): number {
    this.#lastKey ??= this.sql.one<{ key: number | null }>('select max(task_key) as key from tasks').key ?? 0
    return ++this.#lastKey
  }
}

type UsageOfDay = Pick<
  DayUsageRow,
  'day' | 'tenant' | 'user_id' | 'workflow' | 'skill' | 'profile' | 'provider' | 'model'
>

type Tables = typeof tables

interface Around {
  readonly sql: Sql
  readonly tasks: HeldRows<Tables['tasks']>
  readonly runs: HeldRows<Tables['runs']>
  readonly calls: HeldRows<Tables['tool_calls']>
  readonly usage: HeldRows<Tables['model_usage']>
  usageOf(day: UsageOfDay): DayUsageRow
}

/** A task and what belongs to it, as far as the batch needs it. */
export class HeldTask {
  readonly sql: Sql
  readonly #row: TaskRow
  /** Whether the batch added the task, so that no table has anything of it. */
  readonly #isNew: boolean
  readonly #around: Around
  readonly #runs = new Map<string, RunRow | null>()
  /** The open calls by run, in the order in which they were requested. */
  readonly #openCalls = new Map<string | null, CallRow[]>()
  readonly #usage = new Map<string, UsageRow>()
  readonly #names = new Set<string>()
  readonly #workflowOfTeam = new Map<string, string>()

  constructor(row: TaskRow, isNew: boolean, around: Around) {
    this.#row = row
    this.#isNew = isNew
    this.#around = around
    this.sql = around.sql
  }

  get key(): number {
    return this.#row.task_key
  }

  /** For reading only. */
  get row(): Readonly<TaskRow> {
    return this.#row
  }

  /** For changes. */
  change(): TaskRow {
    this.#around.tasks.changed(this.#row)
    return this.#row
  }

  /** A run, for changes. `undefined` if no run has that id. */
  run(runId: string | null): RunRow | undefined {
    if (runId === null) return undefined
    let run = this.#runs.get(runId)
    if (run === undefined) {
      run = this.#isNew
        ? null
        : (this.sql.get<RunRow>('select * from runs where task_key = ? and run_id = ?', [this.key, runId]) ??
          null)
      this.#runs.set(runId, run)
    }
    if (run === null) return undefined
    this.#around.runs.changed(run)
    return run
  }

  /** The runs with a reservation, for changes. */
  reservedRuns(): readonly RunRow[] {
    if (!this.#isNew)
      for (const { run_id } of this.sql.all<Pick<RunRow, 'run_id'>>(
        'select run_id from runs where task_key = ? and reserved_taskseq is not null',
        [this.key],
      ))
        this.run(run_id)
    const reserved = [...this.#runs.values()].filter(
      (run): run is RunRow => run !== null && run.reserved_taskseq !== null,
    )
    for (const run of reserved) this.#around.runs.changed(run)
    return reserved
  }

  /** Returns `false` if a run has that id already. */
  addRun(run: Omit<NeededOf<Tables['runs']>, 'task_key'> & Partial<RunRow>): boolean {
    if (this.run(run.run_id) !== undefined) return false
    this.#runs.set(run.run_id, this.#around.runs.add({ ...tables.runs.initial, ...run, task_key: this.key }))
    return true
  }

  /** The calls of a run that have not ended, in the order in which they were requested. */
  openCalls(runId: string | null): readonly CallRow[] {
    let calls = this.#openCalls.get(runId)
    if (calls === undefined) {
      const text =
        'select * from tool_calls where task_key = ? and run_id is ? and ended_at is null order by asked_taskseq, call_index'
      this.#openCalls.set(runId, (calls = this.#isNew ? [] : this.sql.all<CallRow>(text, [this.key, runId])))
    }
    return calls
  }

  /** The run's newest open call of an id, for changes. If one answer has several, it is the first of them. */
  openCall(runId: string | null, callId: string): CallRow | undefined {
    let newest: CallRow | undefined
    for (const call of this.openCalls(runId))
      if (call.call_id === callId && call.asked_taskseq > (newest?.asked_taskseq ?? 0)) newest = call
    if (newest !== undefined) this.#around.calls.changed(newest)
    return newest
  }

  addCall(call: Omit<NeededOf<Tables['tool_calls']>, 'task_key'> & Partial<CallRow>): void {
    const row = this.#around.calls.add({ ...tables.tool_calls.initial, ...call, task_key: this.key })
    const open = this.openCalls(row.run_id) as CallRow[]
    if (row.ended_at === null) open.push(row)
  }

  /** Removes the call from the open calls. */
  endCall(call: CallRow): void {
    const open = this.openCalls(call.run_id) as CallRow[]
    open.splice(open.indexOf(call), 1)
  }

  /** A list finds the task by this name from now on. */
  named(kind: TaskNameKind, name: string): void {
    const key = `${kind} ${name}`
    if (this.#names.has(key)) return
    this.#names.add(key)
    insertIfNew(this.sql, tables.task_names, {
      task_key: this.key,
      kind,
      name,
      user_id: this.#row.user_id,
    })
  }

  /** The text by which a list finds the task has changed. */
  wordsChanged(): void {
    insertIfNew(this.sql, unindexedTasks, { task_key: this.key })
  }

  /** What runs like this one used of a model on a day, for the user of the task, for changes. */
  usageOn({ time, runId }: Place, provider: string, model: string): DayUsageRow {
    const run = this.run(runId)
    return this.#around.usageOf({
      day: time.slice(0, 'YYYY-MM-DD'.length),
      tenant: this.#row.tenant,
      user_id: this.#row.user_id ?? '',
      workflow: this.#workflowOf(run?.team_run_id ?? ''),
      skill: run === undefined ? '' : skillNames(run.skills).join(', '),
      profile: this.#row.profile ?? '',
      provider,
      model,
    })
  }

  /** Empty for no team. */
  #workflowOf(team: string): string {
    if (team === '') return ''
    let workflow = this.#workflowOfTeam.get(team)
    if (workflow === undefined) {
      const text = 'select workflow from teams where task_key = ? and team_run_id = ?'
      workflow = this.sql.get<{ workflow: string }>(text, [this.key, team])?.workflow ?? ''
      this.#workflowOfTeam.set(team, workflow)
    }
    return workflow
  }

  /** The usage row of a run for a model, for changes. */
  usage(runId: string, provider: string, model: string): UsageRow {
    const key = JSON.stringify([runId, provider, model])
    let row = this.#usage.get(key)
    if (row === undefined) {
      const text =
        'select * from model_usage where task_key = ? and run_id = ? and provider = ? and model = ?'
      const found = this.#isNew ? undefined : this.sql.get<UsageRow>(text, [this.key, runId, provider, model])
      row =
        found ??
        this.#around.usage.add({
          ...tables.model_usage.initial,
          task_key: this.key,
          run_id: runId,
          provider,
          model,
        })
      this.#usage.set(key, row)
    }
    this.#around.usage.changed(row)
    return row
  }
}

// Holds rows in memory while a batch is applied: each is read at most once, changed as a plain object, and
// written once at the end. An event changes the rows of its task, its run and its call. Writing these changes
// one by one would be most of the work. A writer sees what the table would contain if each change had been
// written at once. New rows are written in the order in which they were added. Only rows that one batch
// touches are held. Nothing outlives the batch.

class HeldRows<T extends Table> {
  readonly #sql: Sql
  readonly #table: T
  readonly #added = new Set<RowOf<T>>()
  readonly #changed = new Set<RowOf<T>>()

  constructor(sql: Sql, table: T) {
    this.#sql = sql
    this.#table = table
  }

  /** Adds a row that the table does not have. */
  add(row: RowOf<T>): RowOf<T> {
    this.#added.add(row)
    return row
  }

  /** Notes that a row has changed. The row was read from the table or added here. */
  changed(row: RowOf<T>): void {
    if (!this.#added.has(row)) this.#changed.add(row)
  }

  /** Writes the added and the changed rows. */
  save(): void {
    for (const row of this.#added) insert(this.#sql, this.#table, row)
    for (const row of this.#changed) update(this.#sql, this.#table, row)
  }
}
