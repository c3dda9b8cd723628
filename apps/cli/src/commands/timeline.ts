// `beaver timeline`: tells in words what happened in a task, or in the tasks of a session one after the other
// (PP-01). The argument may be an id or the beginning of one. The command looks for a task with this id, then
// a session with this id, then a task and then a session whose id begins with it.
import type { EventItem, QueryInput, TaskAnswer, TimelineItem } from '@beaver/contracts'
import { BeaverError, type JsonValue } from '@beaver/core'
import { commandName } from '../command-name.ts'
import type { GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import type { Screen } from '../screen.ts'
import type { Answers } from '../system/answers-from-file.ts'
import { bytes, duration } from '../text/figures.ts'
import { oneLine, plainText } from '../text/plain-text.ts'
import type { Style } from '../text/style.ts'
import { table } from '../text/table.ts'
import { cutToWidth, padStart } from '../text/width.ts'
import { archiveLines } from '../view/archive-lines.ts'
import { ask, askingAbout, newAppears, pages } from './query.ts'
import { readSession, turnHead } from './session.ts'
import { mustSpan } from './since-when.ts'

interface TimelineOptions {
  readonly session?: true
  readonly node?: string
  readonly since?: string
  readonly until?: string
  readonly limit?: number
  readonly full?: true
  readonly from?: string
  readonly json?: true
}

export async function timeline(
  id: string,
  options: TimelineOptions,
  globals: GlobalOptions,
): Promise<number> {
  if (options.full === true && options.json === true)
    throw new UsageError(
      'The option --full is for people. For programs, "beaver events --json" prints all data.',
    )
  if (options.session === true && options.node !== undefined)
    throw new UsageError('The option --node needs a task: a session has no nodes of its own.')
  mustSpan(options)
  return await askingAbout(globals, options.from, async ({ screen }, answers) => {
    let left = options.limit ?? Infinity
    let cut = false
    for (const [index, task] of (await tasksNamed(answers, id, options)).entries()) {
      if (left === 0) return
      if (task.head !== null && options.json !== true)
        screen.print(...(index === 0 ? [] : ['']), screen.style.bold(cutToWidth(task.head, screen.columns)))
      const shown = await tell(answers, task, { ...options, limit: left, screen })
      left -= shown.steps
      cut ||= shown.cut
    }
    if (cut) screen.print('', screen.style.dim('Some texts are cut. The option --full prints them whole.'))
  })
}

interface NamedTask {
  readonly task_id: string
  readonly session_id?: string
  /** The line above the timeline of the task. `null`: the command shows only this task. */
  readonly head: string | null
}

/**
 * The tasks that the argument names.
 *
 * @throws {BeaverError} `not_found`; `invalid_arguments` if the beginning of an id fits several tasks or
 * sessions
 */
export async function tasksNamed(
  answers: Answers,
  id: string,
  { session, node }: Pick<TimelineOptions, 'session' | 'node'>,
): Promise<readonly NamedTask[]> {
  if (session === true) return await tasksOfSession(answers, id)
  if (node !== undefined) return [{ task_id: id, head: null }]
  const task = await taskNamed(answers, id)
  if (task === id) return [{ task_id: id, head: null }]
  const sessionId = await sessionNamed(answers, id)
  if (sessionId === id || (sessionId !== null && task === null))
    return await tasksOfSession(answers, sessionId)
  if (task instanceof BeaverError) throw task
  if (task !== null) return [{ task_id: task, head: null }]
  const lists = `"beaver tasks" lists the tasks, and "beaver sessions" lists the sessions.${newAppears('one', answers.asOf)}`
  throw new BeaverError('not_found', `There is no task and no session ${JSON.stringify(id)}. ${lists}`)
}

/** The id of the task that the argument names; `null` if there is none; an error if it fits several tasks. */
async function taskNamed(answers: Answers, id: string): Promise<string | BeaverError | null> {
  try {
    return (await ask(answers, 'timeline', { task_id: id, limit: 1 })).task_id
  } catch (error) {
    if (!(error instanceof BeaverError) || !['not_found', 'invalid_arguments'].includes(error.code))
      throw error
    return error.code === 'not_found' ? null : error
  }
}

async function sessionNamed(answers: Answers, id: string): Promise<string | null> {
  try {
    return (await readSession(answers, id, { limit: 1 })).session.session_id
  } catch (error) {
    if (!(error instanceof BeaverError) || !['not_found', 'invalid_arguments'].includes(error.code))
      throw error
    return null
  }
}

/** The tasks of a session, the oldest first. */
async function tasksOfSession(answers: Answers, id: string): Promise<readonly NamedTask[]> {
  const { session, tasks } = await readSession(answers, id, { limit: Infinity })
  return tasks.toReversed().map((turn) => {
    const asked = turn.title === null ? `  ${oneLine(turn.text ?? '')}` : ''
    return {
      task_id: turn.task_id,
      session_id: session.session_id,
      head: `${turnHead(turn, Date.now())}${asked}`,
    }
  })
}

/**
 * Prints the timeline of a task.
 *
 * @returns how many steps it printed, and whether a text was cut because the terminal is too narrow
 */
async function tell(
  answers: Answers,
  { task_id: named, session_id }: NamedTask,
  { node, since, until, json, full, limit, screen }: TimelineOptions & { readonly screen: Screen },
): Promise<{ readonly steps: number; readonly cut: boolean }> {
  let archive: TaskAnswer['archive']
  let task_id = named
  let steps = 0
  const items: TimelineItem[] = []
  const whole = new WholeTimeline(screen.style)
  const askPage = async (place: { after: number; limit: number }) => {
    const page = await ask(answers, 'timeline', {
      task_id,
      session_id,
      node_id: node,
      since,
      until,
      ...place,
    })
    ;({ archive, task_id } = page)
    return page
  }
  for await (const page of pages(askPage, { limit })) {
    steps += page.length
    if (json === true) for (const item of page) screen.jsonLine(item)
    else if (full === true)
      screen.print(
        ...whole.texts(
          page,
          await eventsOf(answers, page, { task_id, session_id, node_id: node, since, until }),
        ),
      )
    else items.push(...page)
  }
  const lines = full === true ? [] : timelineTable(items, screen)
  if (json !== true) screen.print(...lines, ...archiveLines({ archive }, task_id, commandName()))
  return { steps, cut: isCut(items, lines) }
}

/**
 * Whether the table cut a text of an item.
 *
 * @param lines the table of the items: its head, and one line for each item
 */
export const isCut = (items: readonly TimelineItem[], [, ...lines]: readonly string[]): boolean =>
  items.some((item, i) => !(lines[i] ?? '').includes(oneLine(item.text)))

/** The events of the steps, by their `taskseq`. */
async function eventsOf(
  answers: Answers,
  steps: readonly TimelineItem[],
  query: QueryInput<'events'>,
): Promise<ReadonlyMap<number, EventItem>> {
  const [first, last] = [steps[0]?.taskseq ?? 0, steps.at(-1)?.taskseq ?? 0]
  const found = new Map<number, EventItem>()
  const askPage = (place: { after: number; limit: number }) => ask(answers, 'events', { ...query, ...place })
  for await (const page of pages(askPage, { limit: steps.length, after: first - 1 }))
    for (const event of page) if (event.taskseq <= last) found.set(event.taskseq, event)
  return found
}

/**
 * The column is narrow, because every sentence already names its agent. It helps readers who look for one
 * agent.
 */
const whoColumnsMax = 18
const whatColumnsMin = 64

/** The table of the steps: its head, and one line for each step. */
export function timelineTable(
  items: readonly TimelineItem[],
  { columns, style }: Pick<Screen, 'columns' | 'style'>,
): string[] {
  return table<TimelineItem>(
    [
      { title: '#', cell: (item) => String(item.taskseq), align: 'right', paint: style.dim },
      { title: 'AT', cell: (item) => duration(item.offset_ms ?? 0), align: 'right', paint: style.dim },
      {
        title: 'WHO',
        cell: (item) => cutToWidth(oneLine(item.actor_name), whoColumnsMax),
        optional: 1,
        paint: style.cyan,
      },
      {
        title: 'WHAT',
        cell: (item) => oneLine(item.text),
        flexible: true,
        least: whatColumnsMin,
        paint: (cell, item) => trouble(item, style)(cell),
      },
    ],
    items,
    { width: columns, title: style.dim },
  )
}

// Formats a timeline with its long texts. Below each step are the texts of its event that the step's sentence
// may cut. A text that was already shown is not repeated: a line names the event that has it.

/** A sentence contains texts of up to this length whole. */
const shortCharsMax = 119
const numberColumns = 4
const timeColumns = 11
const textColumn = numberColumns + timeColumns + 4

/** The colour of a step: red if it failed, yellow if a person should look at it. */
function trouble({ status }: TimelineItem, style: Style): (text: string) => string {
  if (status === 'failed') return style.red
  return status === 'blocked' || status === 'cancelled' || status === 'waiting' ? style.yellow : String
}

/** Formats the pages of one timeline. It remembers the texts that were shown. */
export class WholeTimeline {
  readonly #style: Style
  /** For each text, the `taskseq` of the event that showed it first. */
  readonly #shown = new Map<string, number>()

  constructor(style: Style) {
    this.#style = style
  }

  /**
   * One text for each step.
   *
   * @param events the events of the steps, by their `taskseq`
   */
  texts(steps: readonly TimelineItem[], events: ReadonlyMap<number, EventItem>): string[] {
    return steps.flatMap((step) => {
      const at = `${padStart(String(step.taskseq), numberColumns)}  ${padStart(duration(step.offset_ms ?? 0), timeColumns)}`
      return [
        `${this.#style.dim(at)}  ${trouble(step, this.#style)(oneLine(step.text))}`,
        ...this.#below(events.get(step.taskseq)),
      ]
    })
  }

  #below(event: EventItem | undefined): string[] {
    if (event === undefined) return []
    const indent = ' '.repeat(textColumn)
    if (event.data === null && event.data_bytes > 0)
      return [
        `${indent}${this.#style.dim(`Its data of ${bytes(event.data_bytes)} is too large for an answer: beaver export has it.`)}`,
      ]
    return [...Map.groupBy(longTexts(event.data), ({ text }) => text)].map(([text, fields]) => {
      const names = this.#style.cyan(fields.map(({ field }) => field).join(', '))
      const first = this.#shown.get(text)
      if (first !== undefined) return `${indent}${names}: the same text as in ${first}`
      this.#shown.set(text, event.taskseq)
      return [`${indent}${names}`, ...readable(text).map((line) => `${indent}  ${line}`)].join('\n')
    })
  }
}

/** The long texts in the data of an event, with the paths of their fields. */
function longTexts(data: JsonValue, field = ''): { readonly field: string; readonly text: string }[] {
  if (typeof data === 'string')
    return data.length > shortCharsMax || data.trim().includes('\n') ? [{ field, text: data }] : []
  if (typeof data !== 'object' || data === null) return []
  return Object.entries(data).flatMap(([name, value]) =>
    longTexts(value, field === '' ? name : `${field}.${name}`),
  )
}

/** The lines of a text. JSON, such as the arguments of a call, is indented. */
function readable(text: string): string[] {
  const value = parsed(text)
  const laidOut = typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2) : text
  return plainText(laidOut).trimEnd().split('\n')
}

function parsed(text: string): unknown {
  try {
    return /^\s*[[{]/.test(text) ? (JSON.parse(text) as unknown) : null
  } catch {
    return null
  }
}
