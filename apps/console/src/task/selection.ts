// What the page of a task shows, as it is in the address. Pure.

export const views = ['tree', 'graph', 'timeline', 'events'] as const
export type ViewName = (typeof views)[number]

export interface TaskPageSearch {
  readonly view?: ViewName
  /** The key of the selected part, as in tree.ts. Absent: the task as a whole. */
  readonly at?: string
  /** The place of the selected event in the log. */
  readonly event?: number | undefined
  /** The figure of the report from which somebody came to the event. */
  readonly figure?: string | undefined
}

export function readTaskPage(raw: Readonly<Record<string, unknown>>): TaskPageSearch {
  const view = views.find((each) => each === raw['view'])
  const at = typeof raw['at'] === 'string' && raw['at'] !== '' ? raw['at'] : undefined
  const event = Number(raw['event'])
  const figure = readFigure(raw['figure'])
  return {
    ...(view === undefined ? {} : { view }),
    ...(at === undefined ? {} : { at }),
    ...(Number.isSafeInteger(event) && event > 0
      ? { event, ...(figure === undefined ? {} : { figure }) }
      : {}),
  }
}

/** A figure such as 640 is a number in the address. */
function readFigure(raw: unknown): string | undefined {
  const text = typeof raw === 'number' ? String(raw) : raw
  return typeof text === 'string' && text !== '' && text.length <= 100 ? text : undefined
}
