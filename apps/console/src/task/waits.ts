// Why a task does not go on: what it waits for, until when, and where somebody can do something about it. Pure.
import type { QueryOutput } from '@beaver/contracts'

type Entry = QueryOutput<'inbox'>['entries'][number]
type Task = Pick<
  QueryOutput<'task'>['task'],
  'status' | 'wait' | 'started_at' | 'submitted_at' | 'previous_task_id'
>
type Span = QueryOutput<'spans'>['spans'][number]

export interface Wait {
  readonly key: string
  readonly text: string
  /** Until when, and what happens then. `null`: it is not known. */
  readonly until: { readonly time: string; readonly what: string } | null
  /** Where somebody can do something about it. `null`: nowhere. */
  readonly to: { readonly entry: Entry } | { readonly taskId: string } | null
}

export interface WaitsKnown {
  readonly task: Task
  /** What a person of the inbox is asked by the task. */
  readonly entries: readonly Entry[]
  /** The task before this one in its session, if it has not ended. */
  readonly previousOpen: string | null
  /** The waits of the agent that is shown. */
  readonly spans: readonly Span[]
  readonly now: number
}

export function waitsOf({ task, entries, previousOpen, spans, now }: WaitsKnown): readonly Wait[] {
  const { wait } = task
  return [
    ...entries.map((entry): Wait => ({ ...asked(entry), to: { entry } })),
    // What a person is asked says more than that a person is waited for.
    ...(wait === null || (wait.for === 'person' && entries.length > 0)
      ? []
      : [
          {
            key: 'wait',
            text: sentence(wait.reason),
            until: wait.until === null ? null : { time: wait.until, what: 'Beaver looks again' },
            to: null,
          },
        ]),
    ...(task.status !== 'submitted' || task.started_at !== null
      ? []
      : previousOpen !== null
        ? [
            {
              key: 'previous',
              text: 'It begins when the task before it in its session has ended.',
              until: null,
              to: { taskId: previousOpen },
            },
          ]
        : [
            { key: 'queue', text: 'It is in the queue. A daemon with room takes it.', until: null, to: null },
          ]),
    ...spans.flatMap((span): Wait[] =>
      span.kind !== 'wait' ||
      span.name !== 'retry' ||
      span.ended_at === null ||
      Date.parse(span.ended_at) <= now
        ? []
        : [
            {
              key: `retry ${span.taskseq}`,
              text: `The call of the model failed${span.tries === null ? '' : `, try ${span.tries}`}.`,
              until: { time: span.ended_at, what: 'It is asked again' },
              to: null,
            },
          ],
    ),
  ]
}

function asked(entry: Entry): Omit<Wait, 'to'> {
  switch (entry.kind) {
    case 'approval':
      return {
        key: `approval ${entry.call.taskseq} ${entry.call.call_id}`,
        text: `A person allows or denies ${entry.call.tool}${entry.call.subject === '' ? '' : `: ${entry.call.subject}`}`,
        until: null,
      }
    case 'question': {
      const { expires_at: end, taskseq, question_index: index, message } = entry.question
      return {
        key: `question ${taskseq} ${index}`,
        text: `A person answers: ${message}`,
        until: end === null ? null : { time: end, what: 'It goes on without an answer' },
      }
    }
    case 'budget':
      return {
        key: `budget ${entry.budget.taskseq}`,
        text: sentence(entry.budget.reason),
        until: { time: entry.budget.expires_at, what: 'If nobody gives more, the agent ends' },
      }
    default:
      return entry satisfies never
  }
}

const sentence = (text: string): string =>
  `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`

/** The runs of which a model is not asked, because a budget has no place for the call. */
export const runsWithoutBudget = (entries: readonly Entry[]): ReadonlySet<string> =>
  new Set(entries.flatMap((entry) => (entry.kind === 'budget' ? (entry.budget.run_ids ?? []) : [])))
