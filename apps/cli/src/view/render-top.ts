// Formats what runs now, for `beaver top`: how many tasks there are in each state, the queue, the slots, the
// rates, and the open tasks with what each of them does. Pure. Each line fits the columns of the terminal, and
// every name and text comes from outside and is cleaned.
import { stripVTControlCharacters } from 'node:util'
import type { TaskSummary } from '@beaver/contracts'
import { taskStatus } from '@beaver/core'
import type { Screen } from '../screen.ts'
import { briefIds } from '../text/brief-ids.ts'
import { costCell, costOf, usdText } from '../text/cost.ts'
import { count, counted, duration, moment, tookMs } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { statusPaint, statusWord } from '../text/status-paint.ts'
import { table } from '../text/table.ts'
import { cutToWidth, padEnd, textWidth } from '../text/width.ts'

/** The newest step of a task. */
export interface TopStep {
  /** Who did it, such as an agent or a tool. */
  readonly by: string
  /** A sentence, which names who did it. */
  readonly text: string
  readonly at: string
}

export interface TopDaemon {
  readonly daemon: string
  /** `null`: it did not answer. */
  readonly slots: {
    readonly tasks: number
    readonly tasks_max: number
    readonly threads: number
    readonly threads_max: number
  } | null
}

/** Sums that grow, from which the rates follow. */
export interface TopSums {
  readonly atMs: number
  readonly calls: number
  readonly tokens: number
  readonly usd: number
  readonly ended: number
}

export interface TopLook {
  readonly atMs: number
  readonly by_status: Readonly<Record<string, number>>
  readonly oldest_submitted_at: string | null
  /** How many messages the projector has still to apply. */
  readonly behind: number
  readonly daemons: readonly TopDaemon[]
  /** Those that have not ended, at most some hundred. */
  readonly tasks: readonly TaskSummary[]
  /** By the id of the session and the task. */
  readonly steps: ReadonlyMap<string, TopStep>
  readonly sums: TopSums
}

export type TopSort = 'state' | 'age' | 'tokens' | 'cost'

export const keyOf = ({ session_id, task_id }: Pick<TaskSummary, 'session_id' | 'task_id'>): string =>
  `${session_id} ${task_id}`

const stateOrder = ['running', 'waiting_for_person', 'waiting_for_provider', 'waiting_for_limit']
const placeOf = (task: TaskSummary): number => {
  const place = stateOrder.indexOf(taskStatus(task))
  return place === -1 ? stateOrder.length : place
}
const tokensOf = ({ input_tokens, output_tokens }: TaskSummary): number => input_tokens + output_tokens
const usdOf = ({ cost_usd: whole, cost_usd_known: part = 0 }: TaskSummary): number => whole ?? part

/** The tasks in the order that a person asked for. Among equals, the oldest comes first. */
export function sortedTasks(tasks: readonly TaskSummary[], by: TopSort): TaskSummary[] {
  const order: Record<TopSort, (one: TaskSummary, other: TaskSummary) => number> = {
    state: (one, other) => placeOf(one) - placeOf(other),
    age: () => 0,
    tokens: (one, other) => tokensOf(other) - tokensOf(one),
    cost: (one, other) => usdOf(other) - usdOf(one),
  }
  const submitted = ({ submitted_at: at }: TaskSummary): string => at ?? ''
  return tasks.toSorted(
    (one, other) =>
      order[by](one, other) ||
      (submitted(one) < submitted(other) ? -1 : submitted(one) > submitted(other) ? 1 : 0),
  )
}

const endedStates = ['completed', 'incomplete', 'failed', 'cancelled']
export const endedOf = (byStatus: TopLook['by_status']): number =>
  endedStates.reduce((sum, name) => sum + (byStatus[name] ?? 0), 0)

/** How many tasks have not ended, and are no tasks that nobody drives. */
const openOf = (byStatus: TopLook['by_status']): number =>
  Object.entries(byStatus).reduce(
    (sum, [name, n]) => sum + (endedStates.includes(name) || name === 'quarantined' ? 0 : n),
    0,
  )

const rateMsMin = 1_000

/**
 * What happened in a minute, from the first of some sums to the last. Empty: too little time lies between them.
 */
function rateText(sums: readonly TopSums[]): string {
  const [first, last] = [sums[0], sums.at(-1)]
  if (first === undefined || last === undefined || last.atMs - first.atMs < rateMsMin) return ''
  const perMinute = (of: (each: TopSums) => number): number =>
    (Math.max(0, of(last) - of(first)) * 60_000) / (last.atMs - first.atMs)
  const usd = perMinute((each) => each.usd)
  return [
    counted(Math.round(perMinute(({ calls }) => calls)), 'call'),
    counted(Math.round(perMinute(({ tokens }) => tokens)), 'token'),
    ...(usd > 0 ? [usdText(usd)] : []),
    `${counted(Math.round(perMinute(({ ended }) => ended)), 'task')} ended`,
  ].join(', ')
}

export interface TopOptions extends Pick<Screen, 'columns' | 'style' | 'symbols'> {
  /** The most rows of the terminal. `Infinity`: any number. */
  readonly rows: number
  readonly now: number
  readonly sort: TopSort
  /** The sums of the looks of the last minute, the oldest first. */
  readonly sums: readonly TopSums[]
  /** Why the figures are old. `null`: they are not. */
  readonly notice: string | null
  /** The last line, which says what the keys do. `null`: none. */
  readonly foot: string | null
}

const nameColumns = 8

/** The lines of `beaver top`. */
export function topLines(look: TopLook, options: TopOptions): string[] {
  const { columns, rows, style, symbols, now, notice, foot } = options
  const cut = (text: string): string => cutToWidth(text, columns, symbols.ellipsis)
  const field = (name: string, text: string): string =>
    style.dim(padEnd(name, nameColumns)) +
    cutToWidth(text, Math.max(1, columns - nameColumns), symbols.ellipsis)
  const rate = rateText(options.sums)
  const head = [
    style.bold(cut(`beaver top  ${moment(new Date(look.atMs).toISOString(), now)}`)),
    field('tasks', statesText(look)),
    field('queue', queueText(look, now)),
    field('slots', slotsText(look)),
    ...(rate === '' ? [] : [field('minute', rate)]),
    ...(look.behind > behindShown
      ? [style.yellow(cut(`The read model is ${count(look.behind)} messages behind.`))]
      : []),
    ...(notice === null ? [] : [style.yellow(cut(oneLine(notice)))]),
  ]
  const footLines = foot === null ? [] : [style.dim(cut(foot))]
  const room = Math.max(1, rows - head.length - footLines.length - tableHeadRows)
  const sorted = sortedTasks(look.tasks, options.sort)
  const shown = sorted.slice(0, shownMax(room))
  const left = openOf(look.by_status) - shown.length
  const body =
    shown.length === 0
      ? ['', style.dim('No task is open.')]
      : [
          '',
          ...taskLines(shown, look, options),
          ...(left > 0 ? [style.dim(cut(`${count(left)} more: beaver tasks --status open`))] : []),
        ]
  return [...head, ...body, ...footLines].slice(0, Math.max(1, rows))
}

/** The empty line above the table, its head, and the line about what is left out. */
const tableHeadRows = 3
const rowsOfTask = 2
const behindShown = 100

const shownMax = (room: number): number =>
  room === Infinity ? Infinity : Math.max(1, Math.floor(room / rowsOfTask))

/** How many tasks fit on a terminal of so many rows, at the most. */
export const tasksFitting = (rows: number): number => shownMax(rows)

/** Whole seconds, so that a frame changes once in a second. */
const ageText = (ms: number): string => duration(Math.floor(ms / 1_000) * 1_000)

function statesText({ by_status: byStatus }: TopLook): string {
  const parts = Object.entries(byStatus)
    .toSorted(([one], [other]) => Number(endedStates.includes(one)) - Number(endedStates.includes(other)))
    .map(([name, n]) => `${count(n)} ${oneLine(statusWord(name))}`)
  return parts.length === 0 ? 'none yet' : parts.join(', ')
}

function queueText({ by_status: byStatus, oldest_submitted_at: at }: TopLook, now: number): string {
  const waiting = byStatus['submitted'] ?? 0
  if (waiting === 0 || at === null) return 'empty'
  return `${counted(waiting, 'task')}, the oldest for ${ageText(now - Date.parse(at))}`
}

function slotsText({ daemons }: TopLook): string {
  if (daemons.length === 0) return 'no daemon is there'
  const answered = daemons.flatMap(({ slots }) => (slots === null ? [] : [slots]))
  const sum = (of: (each: (typeof answered)[number]) => number): string =>
    count(answered.reduce((all, each) => all + of(each), 0))
  const silent = daemons.length - answered.length
  return [
    ...(answered.length === 0
      ? []
      : [
          `${sum(({ tasks }) => tasks)} of ${sum(({ tasks_max: max }) => max)} used`,
          `${sum(({ threads }) => threads)} of ${sum(({ threads_max: max }) => max)} threads`,
        ]),
    counted(daemons.length, 'daemon'),
    ...(silent === 0 ? [] : [`${count(silent)} did not answer`]),
  ].join(', ')
}

const modelColumnsMax = 12
const requestColumnsMin = 4

/** Two lines for each task: its figures, and what it does. */
function taskLines(tasks: readonly TaskSummary[], look: TopLook, options: TopOptions): string[] {
  const { columns, style, symbols, now } = options
  const brief = briefIds(tasks.map(({ task_id: id }) => oneLine(id)))
  const stateOf = (task: TaskSummary): string => oneLine(statusWord(taskStatus(task)))
  const [head = '', ...lines] = table<TaskSummary>(
    [
      {
        title: 'TASK',
        cell: ({ task_id: id }) => (columns === Infinity ? oneLine(id) : brief(oneLine(id))),
      },
      {
        title: 'STATUS',
        cell: stateOf,
        paint: (cell, task) => statusPaint(stateOf(task), style)(cell),
      },
      { title: 'AGE', cell: (task) => ageText(tookMs(task, now) ?? 0), align: 'right' },
      { title: 'TOKENS', cell: (task) => count(tokensOf(task)), align: 'right', optional: 1 },
      { title: 'COST', cell: (task) => costCell(costOf(task)), align: 'right', optional: 2 },
      {
        title: 'MODEL',
        cell: ({ model }) => cutToWidth(oneLine(model ?? ''), modelColumnsMax, symbols.ellipsis),
        optional: 3,
      },
      {
        title: 'REQUEST',
        cell: ({ title, text }) => oneLine(title ?? text ?? ''),
        flexible: true,
        least: requestColumnsMin,
      },
    ],
    tasks,
    { width: columns, title: style.dim, ellipsis: symbols.ellipsis },
  )
  return [
    fitting(head, columns, symbols.ellipsis),
    ...tasks.flatMap((task, i) => [
      fitting(lines[i] ?? '', columns, symbols.ellipsis),
      style.dim(
        cutToWidth(`  ${stepText(task, look.steps.get(keyOf(task)), now)}`, columns, symbols.ellipsis),
      ),
    ]),
  ]
}

/** A very narrow terminal shows a line without colours, because it has to be cut. */
const fitting = (line: string, columns: number, ellipsis: string): string =>
  textWidth(line) <= columns ? line : cutToWidth(stripVTControlCharacters(line), columns, ellipsis)

/** What a task waits for, or its newest step. */
function stepText(task: TaskSummary, step: TopStep | undefined, now: number): string {
  const { waits_for: call, wait } = task
  if (call !== null) return oneLine(`${call.agent_name ?? 'An agent'} asks for ${call.tool} ${call.subject}`)
  if (wait !== null) return oneLine(wait.reason)
  if (step === undefined) return ''
  return `${ageText(now - Date.parse(step.at))}  ${oneLine(step.text)}`
}

/** What `--json` prints. */
export function topAnswer(look: TopLook, { sort, limit }: { sort: TopSort; limit: number }): object {
  const shown = sortedTasks(look.tasks, sort).slice(0, limit)
  return {
    at: new Date(look.atMs).toISOString(),
    by_status: look.by_status,
    oldest_submitted_at: look.oldest_submitted_at,
    queue_age_ms:
      look.oldest_submitted_at === null
        ? null
        : Math.max(0, look.atMs - Date.parse(look.oldest_submitted_at)),
    behind: look.behind,
    daemons: look.daemons,
    tasks: shown.map((task) => ({ ...task, step: look.steps.get(keyOf(task)) ?? null })),
    tasks_left_out: Math.max(0, openOf(look.by_status) - shown.length),
  }
}
