// `beaver failures`: shows why tasks failed, in groups of the same cause.
import type { QueryOutput } from '@beaver/contracts'
import { shellWord } from '@beaver/core'
import type { FailureClass } from '@beaver/core/supervision'
import { commandName } from '../command-name.ts'
import type { GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { count, moment } from '../text/figures.ts'
import { briefIds } from '../text/brief-ids.ts'
import { shareText } from '../text/cost.ts'
import { oneLine } from '../text/plain-text.ts'
import { table } from '../text/table.ts'
import { cutToWidth, textWidth } from '../text/width.ts'
import { ask, asking } from './query.ts'
import { sessionIdOf } from './session.ts'
import { mustSpan } from './since-when.ts'

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
  mustSpan(typed)
  return asking(globals, async ({ screen }, connection) => {
    const answer = await ask(connection, 'failures', {
      session_id: await sessionIdOf(connection, typed.session),
      user_id: typed.user,
      uses_workflow: typed.workflow,
      skill: typed.skill,
      profile: typed.profile,
      model: typed.model,
      failure_class: typed.failure as FailureClass | undefined,
      submitted_since: typed.since,
      submitted_before: typed.until,
      limit: typed.limit,
    })
    if (typed.json === true) return screen.json(answer)
    const { tasks, groups, at_least: isPart, looked_at: looked } = answer
    if (groups.length === 0)
      return screen.print(
        isPart ? `None of the newest ${count(looked)} failed tasks is one of these.` : 'No such task failed.',
      )
    screen.print(
      ...failuresTable(answer, screen, { now: Date.now(), command: commandName() }),
      '',
      `In all: ${tasks === 1 ? '1 task' : `${count(tasks)} tasks`} failed.${isPart ? ` There are older ones: Beaver looked at the newest ${count(looked)}.` : ''}`,
    )
    const [first] = groups
    // The first group is the largest.
    if (first !== undefined && first.tasks > 1)
      screen.print(screen.style.dim(`List the tasks of the first: ${tasksCommand(first, screen.columns)}`))
    if (answer.more)
      screen.print(
        screen.style.dim(
          `There are more than these ${groups.length} groups. Show more of them with --limit, up to 200.`,
        ),
      )
  })
}

const indent = ' '.repeat(7)

/** For each group its figures, its message, and how to look at its newest task, each on a line. */
export function failuresTable(
  { tasks: all, groups }: Pick<Answer, 'tasks' | 'groups'>,
  { columns, style }: Pick<Screen, 'columns' | 'style'>,
  { now, command }: { readonly now: number; readonly command: string },
): string[] {
  const at = (time: string | null): string => (time === null ? '' : moment(time, now))
  const [head = '', ...lines] = table<Group>(
    [
      { title: 'TASKS', cell: ({ tasks }) => count(tasks), align: 'right' },
      { title: 'SHARE', cell: ({ tasks }) => shareText(tasks, all), align: 'right', optional: 3 },
      { title: 'CLASS', cell: ({ failure_class: name }) => name, paint: style.red },
      { title: 'FIRST', cell: ({ first_at: time }) => at(time), optional: 2 },
      { title: 'LAST', cell: ({ last_at: time }) => at(time), optional: 1 },
      { title: 'MOSTLY', cell: mostlyText, flexible: true, least: 4 },
    ],
    groups,
    { width: columns, title: style.dim },
  )
  const brief = briefIds(groups.flatMap(({ task_ids: ids }) => ids.slice(0, 1)))
  return [
    head,
    ...groups.flatMap((group, i) => {
      const [id] = group.task_ids
      const shown = id === undefined ? '' : `${command} show ${columns === Infinity ? id : brief(id)}`
      const message = cutToWidth(oneLine(group.pattern), Math.max(1, columns - indent.length))
      return [lines[i] ?? '', indent + message, ...(shown === '' ? [] : [style.dim(indent + shown)])]
    }),
  ]
}

/** Without the message if the command would be wider than the terminal, which breaks it at any place. */
function tasksCommand({ failure_class: name, pattern }: Group, columns: number): string {
  const ofClass = `${commandName()} tasks --failure ${name}`
  const whole = `${ofClass} --failure-pattern ${shellWord(pattern)}`
  return textWidth(`List the tasks of the first: ${whole}`) <= columns ? whole : ofClass
}

/** In what most tasks of the group are alike, such as a workflow. A name of few tasks says nothing. */
const mostlyText = ({ mostly, tasks }: Group): string =>
  mostly
    .filter((each) => each.tasks * 2 > tasks && each.kind !== 'model')
    .map(({ kind, name }) => `${kind} ${oneLine(name, 30)}`)
    .join(', ')
