// Texts of others: what people, models and tools wrote. They are shown as text, never as markup. Characters
// that a reader cannot see, or that turn the direction of a line, are shown as what they are.
import { type ReactNode, useState } from 'react'
import { numberText } from './time.ts'
import { visible } from './visible.ts'

/** One line of a foreign text. */
export const Line = ({ text }: { readonly text: string }): ReactNode => (
  <span className="line" title={visible(text)}>
    {visible(text.replaceAll(/\s+/g, ' ').trim())}
  </span>
)

/** A foreign text with its lines. More than `linesMax` lines are shown when the reader asks. */
export function Block({
  text,
  linesMax = 40,
}: {
  readonly text: string
  readonly linesMax?: number
}): ReactNode {
  const [isWhole, setWhole] = useState(false)
  const lines = visible(text).split('\n')
  const shown = isWhole ? lines : lines.slice(0, linesMax)
  return (
    <div className="block">
      <pre tabIndex={0}>{shown.join('\n')}</pre>
      {lines.length > linesMax ? (
        <button type="button" className="link" onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : `Show ${numberText(lines.length - linesMax)} more lines`}
        </button>
      ) : null}
    </div>
  )
}

/** A button that copies a text, such as an id or a command. */
export function Copy({ text, what }: { readonly text: string; readonly what: string }): ReactNode {
  const [said, setSaid] = useState<string | null>(null)
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      setSaid('Copied')
    } catch {
      setSaid('The browser did not allow it')
    }
  }
  return (
    <button type="button" className="quiet-button" title={text} onClick={() => void copy()}>
      {said ?? what}
    </button>
  )
}
