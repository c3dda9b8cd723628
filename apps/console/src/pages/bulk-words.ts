// What the dialog for many tasks says: what a count means, how far the work is, and what came of it. Pure.
import type { BulkCount, BulkResult, BulkVerb } from '@beaver/contracts'
import { numberText } from '../parts/time.ts'
import { type FilterField, filterFields, statusChoices, type TaskSearch } from './task-search.ts'

const endedStates: ReadonlySet<string> = new Set(['completed', 'incomplete', 'failed', 'cancelled'])
const failedStates: ReadonlySet<string> = new Set(['incomplete', 'failed', 'cancelled'])

/** What can be done to the tasks of a list. Without a filter nothing: nobody means all tasks there are. */
export function verbsOf(search: TaskSearch): readonly BulkVerb[] {
  if (Object.keys(search).length === 0) return []
  const { status } = search
  if (status === undefined) return ['cancel', 'retry']
  return [
    ...(endedStates.has(status) ? [] : (['cancel'] as const)),
    ...(failedStates.has(status) ? (['retry'] as const) : []),
  ]
}

const names: { readonly [Field in FilterField]: string } = {
  status: 'State',
  text: 'Words',
  workflow: 'Workflow',
  skill: 'Skill',
  profile: 'Profile',
  model: 'Model',
  user: 'User',
  session: 'Session',
  since: 'Submitted since',
  until: 'Submitted before',
  failure: 'Class of failure',
  pattern: 'Pattern of the failure',
  cost: 'Costs at least',
  tokens: 'Uses at least',
}

/** The filter in words: what each field is called, and what it has. */
export const filterLines = (search: TaskSearch): (readonly [name: string, value: string])[] =>
  filterFields.flatMap((field) => {
    const value = search[field]
    if (value === undefined) return []
    const word = field === 'status' ? statusChoices.find(([choice]) => choice === value)?.[1] : undefined
    const unit = field === 'cost' ? ' US dollars' : field === 'tokens' ? ' tokens' : ''
    return [[names[field], (word ?? value) + unit] as const]
  })

const tasks = (count: number): string => `${numberText(count)} ${count === 1 ? 'task' : 'tasks'}`
const are = (count: number): string => (count === 1 ? 'is' : 'are')

/** What a count means, in sentences. */
export function countSentences(verb: BulkVerb, count: BulkCount): string[] {
  const { matched, able, at_least, left_out } = count
  if (matched === 0 && able === 0) return ['No task fits the filter.']
  const passive = verb === 'cancel' ? 'cancelled' : 'retried'
  const state = verb === 'cancel' ? `${are(able)} open` : `${able === 1 ? 'has' : 'have'} not completed`
  const first =
    able === 0
      ? `None of the ${at_least ? 'at least ' : ''}${tasks(matched)} that fit can be ${passive}.`
      : `${whatFits(count)} ${state} and will be ${passive}.`
  return [first, ...left_out.map(leftOutSentence)]
}

function whatFits({ matched, able, at_least }: BulkCount): string {
  if (at_least) return `At least ${numberText(able)} of at least ${tasks(matched)} that fit`
  if (able < matched) return `${numberText(able)} of ${tasks(matched)} that fit`
  return able === 1 ? 'The one task that fits' : `All ${tasks(able)} that fit`
}

function leftOutSentence({ why, tasks: count }: BulkCount['left_out'][number]): string {
  const some = tasks(count)
  switch (why) {
    case 'ended':
      return `${some} ${count === 1 ? 'has' : 'have'} ended.`
    case 'not_failed':
      return `${some} ${are(count)} open or completed.`
    case 'already_retried':
      return `${some} ${count === 1 ? 'has' : 'have'} a retry already.`
    case 'cancelled':
      return `${some} ${count === 1 ? 'was' : 'were'} cancelled. Choose the state Cancelled if you mean ${count === 1 ? 'it' : 'them'}.`
    default:
      return why satisfies never
  }
}

/** What several requests have done so far. */
export interface Progress {
  readonly done: number
  readonly refused: BulkResult['refused']
  /** Where the next request goes on. `null`: no task is left. */
  readonly next: number | null
}

export const begun = ({ before }: Pick<BulkCount, 'before'>): Progress => ({
  done: 0,
  refused: [],
  next: before,
})

export const added = (progress: Progress, { done, refused, next }: BulkResult): Progress => ({
  done: progress.done + done,
  refused: [...progress.refused, ...refused],
  next,
})

const handled = ({ done, refused }: Progress): number => done + refused.length

export const progressText = (count: BulkCount, progress: Progress): string =>
  `${numberText(handled(progress))} of ${count.at_least ? 'at least ' : ''}${tasks(count.able)}`

/** What came of it, in sentences. @param problem why it did not go on. `null`: a person stopped it, or it is over */
export function outcomeSentences(
  verb: BulkVerb,
  { count, progress, problem }: { count: BulkCount; progress: Progress; problem: string | null },
): string[] {
  const { done, refused, next } = progress
  const other = handled(progress) - count.able
  const what =
    verb === 'cancel' ? `${tasks(done)} ${are(done)} asked to stop.` : `${tasks(done)} ${are(done)} retried.`
  return [
    ...(problem === null ? [] : [`It did not go on: ${problem}`]),
    ...(next !== null && problem === null ? ['You stopped before the end.'] : []),
    what,
    ...(refused.length === 0 ? [] : [`${tasks(refused.length)} ${are(refused.length)} refused.`]),
    ...(next !== null
      ? [other < 0 ? `About ${tasks(-other)} ${are(-other)} left.` : 'Some tasks may be left.']
      : other === 0 || count.at_least
        ? []
        : [
            `That is ${tasks(Math.abs(other))} ${other < 0 ? 'fewer' : 'more'} than counted, because tasks have changed since.`,
          ]),
  ]
}
