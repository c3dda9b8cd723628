// JSON for people: one line for each field, objects and lists that open and close, texts with their line
// breaks. Names and texts are those of models and tools, so they are shown as text.
import type { ReactNode } from 'react'
import { Block } from './text.tsx'
import { numberText } from './time.ts'
import { visible } from './visible.ts'

/** A text that is JSON as a tree; any other text as it is. */
export function JsonText({
  text,
  linesMax = 30,
}: {
  readonly text: string
  readonly linesMax?: number
}): ReactNode {
  const value = parsed(text)
  return value === undefined || typeof value !== 'object' || value === null ? (
    <Block text={text} linesMax={linesMax} />
  ) : (
    <Json value={value} />
  )
}

/** @param open how many levels are open. Default: 2 */
export const Json = ({ value, open = 2 }: { readonly value: unknown; readonly open?: number }): ReactNode => (
  <div className="json">
    <Value value={value} open={open} />
  </div>
)

/** More entries of one object or list are not drawn. */
const entriesMax = 200

function Value({ value, open }: { readonly value: unknown; readonly open: number }): ReactNode {
  if (typeof value === 'string')
    return value.length > 90 || value.includes('\n') ? (
      <Block text={value} linesMax={12} />
    ) : (
      <span className="json-text">{visible(value) === '' ? '""' : visible(value)}</span>
    )
  if (value === null || typeof value !== 'object') return <code>{String(value)}</code>
  const entries = Object.entries(value) as [string, unknown][]
  if (entries.length === 0) return <code>{Array.isArray(value) ? '[]' : '{}'}</code>
  return (
    <ul>
      {entries.slice(0, entriesMax).map(([name, each]) => (
        <Entry key={name} name={name} value={each} open={open} />
      ))}
      {entries.length > entriesMax ? (
        <li className="quiet">and {numberText(entries.length - entriesMax)} more</li>
      ) : null}
    </ul>
  )
}

function Entry({
  name,
  value,
  open,
}: {
  readonly name: string
  readonly value: unknown
  readonly open: number
}): ReactNode {
  const isNested = typeof value === 'object' && value !== null && Object.keys(value).length > 0
  if (!isNested)
    return (
      <li>
        <span className="json-name">{visible(name)}</span> <Value value={value} open={open} />
      </li>
    )
  const size = Object.keys(value).length
  return (
    <li>
      <details open={open > 0}>
        <summary>
          <span className="json-name">{visible(name)}</span>{' '}
          <span className="quiet small">
            {numberText(size)} {Array.isArray(value) ? 'item' : 'field'}
            {size === 1 ? '' : 's'}
          </span>
        </summary>
        <Value value={value} open={open - 1} />
      </details>
    </li>
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
