// What an entry of the inbox is, and how one is settled: a request, and then the sentence that says what came
// of it, also if somebody else was first.
import type { QueryOutput } from '@beaver/contracts'
import { useState } from 'react'
import { ApiProblem, ask, request } from '../data/api.ts'

export type Entry = QueryOutput<'inbox'>['entries'][number]

/** An entry keeps its key while it waits. */
export function keyOf(entry: Entry): string {
  switch (entry.kind) {
    case 'approval':
      return `${entry.task_id} approval ${entry.call.taskseq} ${entry.call.call_id}`
    case 'question':
      return `${entry.task_id} question ${entry.question.taskseq} ${entry.question.question_index}`
    case 'budget':
      return `${entry.task_id} budget ${entry.budget.taskseq}`
    default:
      return entry satisfies never
  }
}

export interface EntryProps<Kind extends Entry['kind']> {
  readonly entry: Extract<Entry, { kind: Kind }>
  /** The entry is settled; the sentence says how. */
  readonly done: (sentence: string) => Promise<void>
}

export interface Settling {
  /** A request is under way. */
  readonly isBusy: boolean
  /** Why the last request was refused. */
  readonly problem: string | null
  readonly setProblem: (problem: string | null) => void
  /** Sends the request. `sentence`: what is said when the record has it. */
  settle(path: string, body: object, sentence: string): Promise<void>
}

export function useSettle(done: EntryProps<Entry['kind']>['done']): Settling {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  return {
    isBusy,
    problem,
    setProblem,
    async settle(path, body, sentence) {
      setBusy(true)
      setProblem(null)
      try {
        await request(path, { method: 'POST', body })
        await done(sentence)
      } catch (error) {
        setBusy(false)
        // Somebody else was first: the message says who and when.
        if (error instanceof ApiProblem && error.status === 409) await done(error.message)
        else setProblem(error instanceof ApiProblem ? error.message : 'The page has a fault. Load it again.')
      }
    },
  }
}

const outcomes: Readonly<Record<string, string>> = {
  granted: 'allowed',
  denied: 'denied',
  accept: 'answered',
  decline: 'declined to answer',
  cancel: 'left open',
}

/** How an entry was settled by somebody else: who, what and when, in one sentence. */
export async function howItEnded(entry: Entry): Promise<string> {
  if (entry.kind === 'budget') return 'The budget has room again, or the run has ended.'
  const { approvals, questions = [] } = await ask('task', { task_id: entry.task_id, limit: 1 })
  if (entry.kind === 'approval') {
    const { taskseq, call_id, tool } = entry.call
    const call = approvals.find((each) => each.taskseq === taskseq && each.call_id === call_id)
    return settledText(call, { what: tool, at: call?.decided_at })
  }
  const { taskseq, question_index } = entry.question
  const question = questions.find(
    (each) => each.taskseq === taskseq && each.question_index === question_index,
  )
  return settledText(question, { what: 'the question', at: question?.answered_at })
}

function settledText(
  found: { readonly state: string; readonly by: string | null; readonly user_id: string | null } | undefined,
  { what, at = null }: { readonly what: string; readonly at?: string | null | undefined },
): string {
  const outcome = outcomes[found?.state ?? '']
  if (found === undefined || outcome === undefined) return 'The run ended before anybody decided.'
  const when = at === null ? '' : ` at ${new Date(at).toLocaleTimeString()}`
  return `${found.user_id ?? found.by ?? 'Somebody'} ${outcome} ${what}${when}.`
}

/** Where a verb about a task is asked for. */
export const verbPath = (taskId: string, verb: string): string =>
  `/api/v1/tasks/${encodeURIComponent(taskId)}/${verb}`
