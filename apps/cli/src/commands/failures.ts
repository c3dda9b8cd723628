// `beaver failures`: shows why tasks failed, in groups of the same cause.
import type { QueryOutput } from '@beaver/contracts'
import type { FailureClass } from '@beaver/core/supervision'
import { commandName } from '../command-name.ts'
import type { GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { count, moment } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { table } from '../text/table.ts'
import { ask, asking } from './query.ts'
import { sessionIdOf } from './session.ts'
import { sinceWhen } from './since-when.ts'

interface FailuresOptions {
  readonly session?: string
  readonly user?: string
  readonly workflow?: string
  readonly skill?: string
  readonly profile?: string
  readonly model?: string
  readonly failure?: string
  readonly since?: string
  readonly until?: string
  readonly limit?: number
  readonly json?: true
}

type Answer = QueryOutput<'failures'>
type Group = Answer['groups'][number]

export function failures(typed: FailuresOptions, globals: GlobalOptions): Promise<number> {
  return asking(globals, async ({ screen }, connection) => {
    const answer = await ask(connection, 'failures', {
      session_id: await sessionIdOf(connection, typed.session),
      user_id: typed.user,
      uses_workflow: typed.workflow,
      skill: typed.skill,
      profile: typed.profile,
      model: typed.model,
      failure_class: typed.failure as FailureClass | undefined,
      submitted_since: timeIn(typed.since, '--since'),
      submitted_before: timeIn(typed.until, '--until'),
      limit: typed.limit,
    })
    if (typed.json === true) return screen.json(answer)
    const { tasks, groups, at_least: isPart, looked_at: looked } = answer
    if (groups.length === 0)
      return screen.print(
        isPart ? `None of the newest ${count(looked)} failed tasks is one of these.` : 'No such task failed.',
      )
    screen.print(
      ...failuresTable(groups, screen, Date.now()),
      '',
      `In all: ${tasks === 1 ? '1 task' : `${count(tasks)} tasks`} failed.${isPart ? ` There are older ones: Beaver looked at the newest ${count(looked)}.` : ''}`,
    )
    const [first] = groups
    if (first?.task_ids[0] !== undefined)
      screen.print(screen.style.dim(`See one: ${commandName()} show ${first.task_ids[0]}`))
    if (answer.more)
      screen.print(
        screen.style.dim(
          `There are more than these ${groups.length} groups. Show more of them with --limit, up to 200.`,
        ),
      )
  })
}

const timeIn = (text: string | undefined, option: string): string | undefined =>
  text === undefined ? undefined : sinceWhen(text, Date.now(), option)

const messageColumnsMin = 24

function failuresTable(
  groups: readonly Group[],
  { columns, style }: Pick<Screen, 'columns' | 'style'>,
  now: number,
): string[] {
  return table<Group>(
    [
      { title: 'TASKS', cell: ({ tasks }) => count(tasks), align: 'right' },
      { title: 'CLASS', cell: ({ failure_class: name }) => name, paint: style.red },
      {
        title: 'LAST',
        cell: ({ last_at: at }) => (at === null ? '' : moment(at, now)),
        optional: 1,
      },
      {
        title: 'NEWEST TASK',
        cell: ({ task_ids: ids }) => ids[0] ?? '',
        optional: 2,
      },
      { title: 'MOSTLY', cell: mostlyText, optional: 3 },
      {
        title: 'MESSAGE',
        cell: ({ pattern }) => oneLine(pattern),
        flexible: true,
        least: messageColumnsMin,
      },
    ],
    groups,
    { width: columns, title: style.dim },
  )
}

/** In what most tasks of the group are alike, such as a workflow. A name of few tasks says nothing. */
const mostlyText = ({ mostly, tasks }: Group): string =>
  mostly
    .filter((each) => each.tasks * 2 > tasks && each.kind !== 'model')
    .map(({ kind, name }) => `${kind} ${oneLine(name, 30)}`)
    .join(', ')
