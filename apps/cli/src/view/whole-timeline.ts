// Formats a timeline with its long texts: below each sentence, what its event has and the sentence cut. A
// text that stood above is not repeated: the place of its event is named.
import type { EventItem, TimelineItem } from '@beaver/contracts'
import type { JsonValue } from '@beaver/core'
import { bytes, duration } from '../text/figures.ts'
import { oneLine, plainText } from '../text/plain-text.ts'
import type { Style } from '../text/style.ts'
import { padStart } from '../text/width.ts'

/** A sentence has shorter texts whole. */
const shortCharsMax = 119
const numberColumns = 4
const timeColumns = 11
const textColumn = numberColumns + timeColumns + 4

/** How a step is painted: it failed, or it needs a look. */
export function trouble({ status }: TimelineItem, style: Style): (text: string) => string {
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
