// `beaver timeline`: tells what happened in a task, or in the tasks of a session one after the other, in
// words (PP-01). A whole id counts before a beginning: first the task with this id, then the session with it,
// then a task and then a session that begins so.
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

interface TimelineOptions {
  readonly session?: true
  readonly node?: string
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
  return await askingAbout(globals, options.from, async ({ screen }, answers) => {
    let left = options.limit ?? Infinity
    let cut = false
    for (const [index, task] of (await tasksNamed(answers, id, options)).entries()) {
      if (left === 0) return
      if (task.head !== null && options.json !== true)
        screen.print(...(index === 0 ? [] : ['']), screen.style.bold(cutToWidth(task.head, screen.columns)))
      const told = await tell(answers, task, { ...options, limit: left, screen })
      left -= told.steps
      cut ||= told.cut
    }
    if (cut) screen.print('', screen.style.dim('Some texts are cut. The option --full prints them whole.'))
  })
}

interface NamedTask {
  readonly task_id: string
  readonly session_id?: string
  /** The line above its timeline. `null`: it is the only one. */
  readonly head: string | null
}

/** @throws {BeaverError} `not_found`, `invalid_arguments` if the id may mean several tasks or sessions */
export async function tasksNamed(
  answers: Answers,
  id: string,
  { session, node }: Pick<TimelineOptions, 'session' | 'node'>,
): Promise<readonly NamedTask[]> {
  if (session === true) return await tasksOfSession(answers, id)
  if (node !== undefined) return [{ task_id: id, head: null }]
  const task = await taskNamed(answers, id)
  if (task === id) return [{ task_id: id, head: null }]
  const of = await sessionNamed(answers, id)
  if (of === id || (of !== null && task === null)) return await tasksOfSession(answers, of)
  if (task instanceof BeaverError) throw task
  if (task !== null) return [{ task_id: task, head: null }]
  const lists = `"beaver tasks" lists the tasks, and "beaver sessions" lists the sessions.${newAppears('one', answers.asOf)}`
  throw new BeaverError('not_found', `There is no task and no session ${JSON.stringify(id)}. ${lists}`)
}

/** The id of the task that is meant; `null` if there is none, an error if there are several. */
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
 * Prints the timeline of a task. @returns how many steps it printed, and whether the terminal had no room for
 * a text
 */
async function tell(
  answers: Answers,
  { task_id: named, session_id }: NamedTask,
  { node, json, full, limit, screen }: TimelineOptions & { readonly screen: Screen },
): Promise<{ readonly steps: number; readonly cut: boolean }> {
  let archive: TaskAnswer['archive']
  let task_id = named
  let steps = 0
  const items: TimelineItem[] = []
  const whole = new WholeTimeline(screen.style)
  const askPage = async (place: { after: number; limit: number }) => {
    const page = await ask(answers, 'timeline', { task_id, session_id, node_id: node, ...place })
    ;({ archive, task_id } = page)
    return page
  }
  for await (const page of pages(askPage, { limit })) {
    steps += page.length
    if (json === true) for (const item of page) screen.json(item)
    else if (full === true)
      screen.print(
        ...whole.texts(page, await eventsOf(answers, page, { task_id, session_id, node_id: node })),
      )
    else items.push(...page)
  }
  const lines = full === true ? [] : timelineTable(items, screen)
  if (json !== true) screen.print(...lines, ...archiveLines({ archive }, task_id, commandName()))
  return { steps, cut: isCut(items, lines) }
}

/** @param lines the table of the items: its head, and a line for each of them */
export const isCut = (items: readonly TimelineItem[], [, ...lines]: readonly string[]): boolean =>
  items.some((item, i) => !(lines[i] ?? '').includes(oneLine(item.text)))

/** The events of these steps, by their place in the log. */
async function eventsOf(
  answers: Answers,
  steps: readonly TimelineItem[],
  of: QueryInput<'events'>,
): Promise<ReadonlyMap<number, EventItem>> {
  const [first, last] = [steps[0]?.taskseq ?? 0, steps.at(-1)?.taskseq ?? 0]
  const found = new Map<number, EventItem>()
  const askPage = (place: { after: number; limit: number }) => ask(answers, 'events', { ...of, ...place })
  for await (const page of pages(askPage, { limit: steps.length, after: first - 1 }))
    for (const event of page) if (event.taskseq <= last) found.set(event.taskseq, event)
  return found
}

/** Narrow, because every sentence names its agent too: the column is for readers who look for one agent. */
const whoColumnsMax = 18
const whatColumnsMin = 64

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

// Formats a timeline with its long texts: below each sentence, what its event has and the sentence cut. A
// text that stood above is not repeated: the place of its event is named.

/** A sentence has shorter texts whole. */
const shortCharsMax = 119
const numberColumns = 4
const timeColumns = 11
const textColumn = numberColumns + timeColumns + 4

/** How a step is painted: it failed, or it needs a look. */
function trouble({ status }: TimelineItem, style: Style): (text: string) => string {
  if (status === 'failed') return style.red
  return status === 'blocked' || status === 'cancelled' || status === 'waiting' ? style.yellow : String
}

export class WholeTimeline {
  readonly #style: Style
  /** The place of the event that had a text first. */
  readonly #shown = new Map<string, number>()

  constructor(style: Style) {
    this.#style = style
  }

  /** One text for each step. @param events the events of the steps, by their place in the log */
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

/** Each long text in the data of an event. */
function longTexts(data: JsonValue, field = ''): { readonly field: string; readonly text: string }[] {
  if (typeof data === 'string')
    return data.length > shortCharsMax || data.trim().includes('\n') ? [{ field, text: data }] : []
  if (typeof data !== 'object' || data === null) return []
  return Object.entries(data).flatMap(([name, value]) =>
    longTexts(value, field === '' ? name : `${field}.${name}`),
  )
}

/** The lines of a text. JSON, such as the arguments of a call, is laid out. */
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
