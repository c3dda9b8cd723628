// Folds the usage of models and the parts of prompts: tokens by run, task, day and model, the context of a
// run, and its shortening. Everything with a usage of its own counts: answers, the choice of a skill,
// summaries. The parts of a total, such as the tokens of a cache, are in the rows of models and of days.
// Those of a run or a task are their sums.
import { type DataOf, type Usage, usageParts } from '@beaver/core'
import { clip } from '@beaver/core/task-view'
import type { HeldTask, Place } from './batch.ts'
import { tables } from '../store/schema.ts'
import { insert } from '../store/table.ts'

const namesMax = 10
const nameCharsMax = 100
const failureCharsMax = 300
const partsMax = 20

/** Sums stay integers that JavaScript can read, even in a forged journal. */
const added = (sum: number, more: number): number => Math.min(sum + more, Number.MAX_SAFE_INTEGER)

export function addUsage(
  task: HeldTask,
  at: Place,
  { provider, model, usage }: { provider: string; model: string; usage: Usage },
): void {
  const byModel = [task.usage(at.runId ?? '', provider, model), task.usageOn(at, provider, model)]
  task.named('model', model)
  for (const row of byModel) for (const part of usageParts) row[part] = added(row[part], usage[part] ?? 0)
  for (const row of [task.run(at.runId), task.change(), ...byModel]) {
    if (row === undefined) continue
    row.input_tokens = added(row.input_tokens, usage.input_tokens)
    row.output_tokens = added(row.output_tokens, usage.output_tokens)
    row.calls = added(row.calls, usage.calls)
  }
}

/** A model call for the run that was no answer of it: it chose a skill or wrote a summary. */
function sideCall(
  task: HeldTask,
  at: Place,
  purpose: 'skill_selection' | 'summary',
  { provider, model, usage }: { provider: string; model: string; usage: Usage },
): void {
  if (usage.calls === 0) return
  insert(task.sql, tables.provider_calls, {
    task_key: task.key,
    taskseq: at.taskseq,
    run_id: at.runId,
    purpose,
    time: at.time,
    success: 1,
    provider,
    model,
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
  })
  addUsage(task, at, { provider, model, usage })
}

export function skillSelected(
  task: HeldTask,
  at: Place,
  selection: DataOf<'skill_selection_recorded'>,
): void {
  const { recall, candidates, chosen, failure, usage, provider_name, model, failed_calls = [] } = selection
  const names = chosen.slice(0, namesMax).map((name) => clip(name, nameCharsMax))
  const kept = JSON.stringify({
    recall,
    candidates: candidates.length,
    chosen: names,
    failure: failure === null ? null : clip(failure.message, failureCharsMax),
  })
  const run = task.run(at.runId)
  if (run !== undefined) run.skill_selection = kept
  for (const each of failed_calls)
    addUsage(task, at, { provider: each.provider_name, model: each.model, usage: each.usage })
  sideCall(task, at, 'skill_selection', {
    provider: provider_name ?? 'unknown',
    model: model ?? 'unknown',
    usage,
  })
}

export function promptFixed(
  task: HeldTask,
  at: Place,
  { context }: DataOf<'system_prompt_snapshotted'>,
): void {
  const run = context === undefined ? undefined : task.run(at.runId)
  if (run !== undefined) run.context = JSON.stringify(context?.slice(0, partsMax))
}

export function contextCompacted(
  task: HeldTask,
  at: Place,
  { results, history_messages_dropped }: DataOf<'context_compacted'>,
): void {
  const run = task.run(at.runId)
  if (run === undefined) return
  run.results_compacted += results.length
  run.history_dropped = history_messages_dropped ?? run.history_dropped
}

export function contextSummarized(task: HeldTask, at: Place, summary: DataOf<'context_summarized'>): void {
  const run = task.run(at.runId)
  if (run !== undefined) run.summaries++
  sideCall(task, at, 'summary', {
    provider: summary.provider_name,
    model: summary.model,
    usage: summary.usage,
  })
}

export function summaryRefused(
  task: HeldTask,
  at: Place,
  { provider_name: provider, model, usage }: DataOf<'summary_refused'>,
): void {
  sideCall(task, at, 'summary', { provider, model, usage })
}
