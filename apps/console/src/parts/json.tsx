// Foreign values for people, wherever a page shows one: what a model or a tool wrote, an event, a result. JSON is
// one line for each field, with objects and lists that open and close; so is a text that is JSON. Rows of equal
// objects are a table, a diff is a diff, and any other text keeps its line breaks. All of it is shown as text.
import { type ReactNode, useMemo, useState } from 'react'
import { Diff } from './diff.tsx'
import { isDiff, jsonIn, type Table, tableOf } from './json-shape.ts'
import { Block } from './text.tsx'
import { numberText } from './time.ts'
import { visible } from './visible.ts'

/** Shows a short text or a number of the value. */
export type ShowLeaf = (text: string) => ReactNode

export interface JsonProps {
  readonly value: unknown
  /** How many levels are open. Default: 2 */
  readonly open?: number
  /** A text that is not JSON shows so many lines before the reader asks for more. Default: 30 */
  readonly linesMax?: number
  /** Default: as text. */
  readonly leaf?: ShowLeaf
}

export function Json({ value, open = 2, linesMax = 30, leaf = asText }: JsonProps): ReactNode {
  const read = useMemo(() => inner(value), [value])
  return typeof read === 'string' ? (
    <Text text={read} linesMax={linesMax} />
  ) : (
    <div className="json">
      <Value value={read} open={open} leaf={leaf} />
    </div>
  )
}

const asText: ShowLeaf = (text) => text

/** More entries of one object or list are not drawn. */
const entriesMax = 200
/** A longer text has a block of its own. */
const leafCharsMax = 90

/** What a text writes in JSON; any other value as it is. */
const inner = (value: unknown): unknown => (typeof value === 'string' ? (jsonIn(value) ?? value) : value)

interface ValueProps {
  /** No text that is JSON: see `inner`. */
  readonly value: unknown
  readonly open: number
  readonly leaf: ShowLeaf
}

function Value({ value, open, leaf }: ValueProps): ReactNode {
  if (typeof value === 'string')
    return value.length > leafCharsMax || value.includes('\n') ? (
      <Text text={value} linesMax={12} />
    ) : (
      <span className="json-text">{value === '' ? '""' : leaf(visible(value))}</span>
    )
  if (value === null || typeof value !== 'object') return <code>{leaf(String(value))}</code>
  const size = Object.keys(value).length
  if (size === 0) return <code>{Array.isArray(value) ? '[]' : '{}'}</code>
  const table = tableOf(value)
  if (table !== null) return <Rows table={table} leaf={leaf} />
  return (
    <ul>
      {(Object.entries(value) as [string, unknown][]).slice(0, entriesMax).map(([name, each]) => (
        <Entry key={name} name={name} value={each} open={open} leaf={leaf} />
      ))}
      {size > entriesMax ? <li className="quiet">and {numberText(size - entriesMax)} more</li> : null}
    </ul>
  )
}

const Text = ({ text, linesMax }: { readonly text: string; readonly linesMax: number }): ReactNode =>
  isDiff(text) ? <Diff diff={text} leftOut={0} /> : <Block text={text} linesMax={linesMax} />

function Rows({
  table: { columns, rows },
  leaf,
}: { readonly table: Table } & Pick<ValueProps, 'leaf'>): ReactNode {
  return (
    <div className="json-table" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col" className="json-name">
                {visible(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, entriesMax).map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, column) => (
                <td key={column} className={typeof cell === 'number' ? 'number' : ''}>
                  <Value value={cell} open={0} leaf={leaf} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > entriesMax ? (
        <p className="quiet">and {numberText(rows.length - entriesMax)} more rows</p>
      ) : null}
    </div>
  )
}

function Entry({ name, value, open, leaf }: ValueProps & { readonly name: string }): ReactNode {
  // What is closed is not drawn.
  const [isOpen, setOpen] = useState(open > 0)
  const read = useMemo(() => inner(value), [value])
  const size = typeof read === 'object' && read !== null ? Object.keys(read).length : 0
  if (size === 0)
    return (
      <li>
        <span className="json-name">{visible(name)}</span> <Value value={read} open={open} leaf={leaf} />
      </li>
    )
  return (
    <li>
      <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <span className="json-name">{visible(name)}</span>{' '}
          <span className="quiet small">
            {numberText(size)} {Array.isArray(read) ? 'item' : 'field'}
            {size === 1 ? '' : 's'}
            {typeof value === 'string' ? ', in a text' : ''}
          </span>
        </summary>
        {isOpen ? <Value value={read} open={open - 1} leaf={leaf} /> : null}
      </details>
    </li>
  )
}
