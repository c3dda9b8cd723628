// `beaver timeline`: tells what happened in a task, in words.
import type { TimelineItem, TaskAnswer } from '@beaver/contracts'
import { commandName } from '../command-name.ts'
import type { GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { duration } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { table } from '../text/table.ts'
import { cutToWidth } from '../text/width.ts'
import { archiveLines } from '../view/archive-lines.ts'
import { ask, askingAbout, pages } from './query.ts'

export function timeline(
  task: string,
  options: { readonly node?: string; readonly limit?: number; readonly from?: string; readonly json?: true },
  globals: GlobalOptions,
): Promise<number> {
  return askingAbout(globals, options.from, async ({ screen }, connection) => {
    let archive: TaskAnswer['archive']
    const items: TimelineItem[] = []
    const askPage = async (place: { after: number; limit: number }) => {
      const page = await ask(connection, 'timeline', { task_id: task, node_id: options.node, ...place })
      ;({ archive } = page)
      return page
    }
    for await (const page of pages(askPage, options)) {
      if (options.json === true) for (const item of page) screen.json(item)
      else items.push(...page)
    }
    if (options.json !== true) screen.print(...timelineTable(items, screen), ...archiveLines({ archive }, task, commandName()))
  })
}

/** Narrow, because every sentence names its agent too: the column is for readers who look for one agent. */
const whoColumnsMax = 18
const whatColumnsMin = 64

export function timelineTable(items: readonly TimelineItem[], { columns, style }: Pick<Screen, 'columns' | 'style'>): string[] {
  const trouble = (item: TimelineItem, cell: string): string =>
    item.status === 'failed'
      ? style.red(cell)
      : item.status === 'blocked' || item.status === 'cancelled' || item.status === 'waiting'
        ? style.yellow(cell)
        : cell
  return table<TimelineItem>(
    [
      { title: '#', cell: (item) => String(item.taskseq), align: 'right', paint: style.dim },
      { title: 'AT', cell: (item) => duration(item.offset_ms ?? 0), align: 'right', paint: style.dim },
      { title: 'WHO', cell: (item) => cutToWidth(oneLine(item.actor_name), whoColumnsMax), optional: 1, paint: style.cyan },
      { title: 'WHAT', cell: (item) => oneLine(item.text), flexible: true, least: whatColumnsMin, paint: (cell, item) => trouble(item, cell) },
    ],
    items,
    { width: columns, title: style.dim },
  )
}
