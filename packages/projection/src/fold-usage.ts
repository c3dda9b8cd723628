// What was used of the models, and what made up the prompts: tokens by run, task and model; the context of a run and what became of it.
// U1. Whatever has a usage of its own counts: answers, the choice of a skill, summaries.
import type { DataOf, Usage } from '@beaver/core'
import type { Place } from './fold.ts'
import type { Sql } from './sql.ts'
import { clip } from './text.ts'

const namesMax = 10
const nameCharsMax = 100
const failureCharsMax = 300
const partsMax = 20

/** Sums stay integers JavaScript can read, even in a forged journal. */
const added = (sum: string, more: string): string => `min(${sum} + ${more}, ${Number.MAX_SAFE_INTEGER})`
const columns = ['input_tokens', 'output_tokens', 'calls'] as const
const addColumns = columns.map((column) => `${column} = ${added(column, '?')}`).join(', ')
const addRows = columns.map((column) => `${column} = ${added(`model_usage.${column}`, `excluded.${column}`)}`).join(', ')

export function addUsage(sql: Sql, at: Place, { provider, model, usage }: { provider: string; model: string; usage: Usage }): void {
  const used = [usage.input_tokens, usage.output_tokens, usage.calls]
  sql.run(`update runs set ${addColumns} where task_key = ? and run_id = ?`, [...used, at.taskKey, at.runId])
  sql.run(`update tasks set ${addColumns} where task_key = ?`, [...used, at.taskKey])
  sql.run(
    `insert into model_usage (task_key, run_id, provider, model, input_tokens, output_tokens, calls) values (?, ?, ?, ?, ?, ?, ?)
     on conflict (task_key, run_id, provider, model) do update set ${addRows}`,
    [at.taskKey, at.runId ?? '', provider, model, ...used],
  )
}

/** A model call for the run that was no answer of it: one that chose a skill, or summed up. */
function sideCall(
  sql: Sql,
  at: Place,
  purpose: 'skill_selection' | 'summary',
  { provider, model, usage }: { provider: string; model: string; usage: Usage },
): void {
  if (usage.calls === 0) return
  sql.run(
    'insert into provider_calls (task_key, taskseq, run_id, purpose, time, success, provider, model, input_tokens, output_tokens) values (?, ?, ?, ?, ?, 1, ?, ?, ?, ?)',
    [at.taskKey, at.taskseq, at.runId, purpose, at.time, provider, model, usage.input_tokens, usage.output_tokens],
  )
  addUsage(sql, at, { provider, model, usage })
}

export function skillSelected(sql: Sql, at: Place, selection: DataOf<'skill_selection_recorded'>): void {
  const { recall, candidates, chosen, failure, usage, provider_name, model } = selection
  const names = chosen.slice(0, namesMax).map((name) => clip(name, nameCharsMax))
  const kept = JSON.stringify({
    recall,
    candidates: candidates.length,
    chosen: names,
    failure: failure === null ? null : clip(failure.message, failureCharsMax),
  })
  sql.run('update runs set skill_selection = ? where task_key = ? and run_id = ?', [kept, at.taskKey, at.runId])
  sideCall(sql, at, 'skill_selection', { provider: provider_name ?? 'unknown', model: model ?? 'unknown', usage })
}

export function promptFixed(sql: Sql, at: Place, { context }: DataOf<'system_prompt_snapshotted'>): void {
  if (context === undefined) return
  sql.run('update runs set context = ? where task_key = ? and run_id = ?', [JSON.stringify(context.slice(0, partsMax)), at.taskKey, at.runId])
}

export function contextCompacted(sql: Sql, at: Place, { results, history_messages_dropped }: DataOf<'context_compacted'>): void {
  sql.run('update runs set results_compacted = results_compacted + ?, history_dropped = coalesce(?, history_dropped) where task_key = ? and run_id = ?', [
    results.length,
    history_messages_dropped ?? null,
    at.taskKey,
    at.runId,
  ])
}

export function contextSummarized(sql: Sql, at: Place, summary: DataOf<'context_summarized'>): void {
  sql.run('update runs set summaries = summaries + 1 where task_key = ? and run_id = ?', [at.taskKey, at.runId])
  sideCall(sql, at, 'summary', { provider: summary.provider_name, model: summary.model, usage: summary.usage })
}
