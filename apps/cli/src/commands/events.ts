// `beaver events`: prints the journal of a task as it was written.
import type { EventItem, TaskAnswer } from '@beaver/contracts'
import { commandName } from '../command-name.ts'
import type { GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { bytes, moment } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { table } from '../text/table.ts'
import { archiveLines } from '../view/archive-lines.ts'
import { ask, askingAbout, pages } from './query.ts'
import { mustSpan } from './since-when.ts'

export function events(
  task: string,
  options: {
    readonly node?: string
    readonly after?: number
    readonly since?: string
    readonly until?: string
    readonly limit?: number
    readonly from?: string
    readonly json?: true
  },
  globals: GlobalOptions,
): Promise<number> {
  const { since, until } = options
  mustSpan(options)
  return askingAbout(globals, options.from, async ({ screen }, connection) => {
    let archive: TaskAnswer['archive']
    let task_id = task
    const items: EventItem[] = []
    const askPage = async (place: { after: number; limit: number }) => {
      const page = await ask(connection, 'events', { task_id, node_id: options.node, since, until, ...place })
      ;({ archive, task_id } = page)
      return page
    }
    for await (const page of pages(askPage, options)) {
      if (options.json === true) for (const item of page) screen.jsonLine(item)
      else items.push(...page)
    }
    if (options.json !== true)
      screen.print(
        ...eventsTable(items, screen, Date.now()),
        ...archiveLines({ archive }, task_id, commandName()),
      )
  })
}

export function eventsTable(
  items: readonly EventItem[],
  { columns, style }: Pick<Screen, 'columns' | 'style'>,
  now: number,
): string[] {
  return table<EventItem>(
    [
      { title: '#', cell: (item) => String(item.taskseq), align: 'right', paint: style.dim },
      { title: 'TIME', cell: (item) => moment(item.time, now), optional: 2, paint: style.dim },
      { title: 'EPOCH', cell: (item) => String(item.epoch), align: 'right', optional: 4, paint: style.dim },
      { title: 'TYPE', cell: (item) => item.type, paint: style.cyan },
      { title: 'BYTES', cell: (item) => bytes(item.data_bytes), align: 'right', optional: 3 },
      { title: 'HASH', cell: (item) => item.hash.slice(0, 12), optional: 1, paint: style.dim },
      { title: 'DATA', cell: (item) => oneLine(JSON.stringify(item.data) ?? '', 400), flexible: true },
    ],
    items,
    { width: columns === Infinity ? 200 : columns, title: style.dim },
  )
}
