// `failures`: why tasks failed, in groups of the same class and the same message. The newest failed tasks are
// read, at most `looksMax` of them, with a few columns of each.
import type { QueryOutput } from '@beaver/contracts'
import { clip } from '@beaver/core/task-view'
import type { TaskRow } from '../store/schema.ts'
import { patternOf } from './failure-pattern.ts'
import { page } from './page.ts'
import type { Query } from './query.ts'
import { filteredTasks } from './task-filter.ts'

const looksMax = 20_000
const messageCharsMax = 1_000
const taskIdsMax = 5

const kinds = ['workflow', 'skill', 'profile', 'model'] as const
type Kind = (typeof kinds)[number]

const columns = [
  'task_id',
  'failure_class',
  'failure_message',
  'submitted_at',
  'ended_at',
  ...kinds,
] as const satisfies readonly (keyof TaskRow)[]
type FailedRow = Pick<TaskRow, (typeof columns)[number]>

/** What is known of a group while tasks are added, the newest first. */
interface Group {
  readonly failure_class: NonNullable<TaskRow['failure_class']>
  readonly pattern: string
  readonly message: string
  readonly task_ids: string[]
  tasks: number
  first_at: string | null
  last_at: string | null
  readonly names: Readonly<Record<Kind, Map<string, number>>>
}

export const failures: Query<'failures'> = (sql, { limit, ...filter }, { prices }) => {
  const groups = new Map<string, Group>()
  const patterns = new Map<string, string>()
  let looked = 0
  let tasks = 0
  const filtered = filteredTasks(sql, filter, { prices, hasFailed: true })
  for (const row of filtered.columns<FailedRow>(columns, looksMax + 1)) {
    if (++looked > looksMax) break
    if (row.fits !== 1 || row.failure_class === null) continue
    const message = row.failure_message ?? ''
    let pattern = patterns.get(message)
    if (pattern === undefined) patterns.set(message, (pattern = patternOf(message)))
    const key = `${row.failure_class} ${pattern}`
    let group = groups.get(key)
    if (group === undefined) groups.set(key, (group = newGroup(row.failure_class, { pattern, message })))
    addTo(group, row)
    tasks++
  }
  const { items, more } = page([...groups.values()].toSorted(mostFirst), limit, {
    item: viewOf,
    cursor: () => 0,
  })
  return { tasks, looked_at: Math.min(looked, looksMax), at_least: looked > looksMax, groups: items, more }
}

const newGroup = (
  failure_class: Group['failure_class'],
  { pattern, message }: Pick<Group, 'pattern' | 'message'>,
): Group => ({
  failure_class,
  pattern,
  message: clip(message, messageCharsMax),
  task_ids: [],
  tasks: 0,
  first_at: null,
  last_at: null,
  names: { workflow: new Map(), skill: new Map(), profile: new Map(), model: new Map() },
})

function addTo(group: Group, row: FailedRow): void {
  group.tasks++
  if (group.task_ids.length < taskIdsMax) group.task_ids.push(row.task_id)
  const at = row.ended_at ?? row.submitted_at
  if (at !== null && (group.first_at === null || at < group.first_at)) group.first_at = at
  if (at !== null && (group.last_at === null || at > group.last_at)) group.last_at = at
  for (const kind of kinds) {
    const name = row[kind]
    if (name !== null) group.names[kind].set(name, (group.names[kind].get(name) ?? 0) + 1)
  }
}

const byText = (one: string, other: string): number => (one === other ? 0 : one < other ? -1 : 1)

/** Of groups of one size, the one with the newest failure comes first. */
const mostFirst = (one: Group, other: Group): number =>
  other.tasks - one.tasks ||
  byText(other.last_at ?? '', one.last_at ?? '') ||
  byText(one.pattern, other.pattern)

const viewOf = ({ names, ...group }: Group): QueryOutput<'failures'>['groups'][number] => ({
  ...group,
  task_ids: group.task_ids as QueryOutput<'failures'>['groups'][number]['task_ids'],
  mostly: kinds.flatMap((kind) => {
    const [most] = [...names[kind]].toSorted(
      ([one, oneTasks], [other, otherTasks]) => otherTasks - oneTasks || byText(one, other),
    )
    return most === undefined ? [] : [{ kind, name: most[0], tasks: most[1] }]
  }),
})
