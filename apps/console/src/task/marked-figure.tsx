// The figure of a report from which somebody came here, marked in the event in which it stands. The mark is no
// markup: the browser paints a range of the text, which is that of a tool.
import { useSearch } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { visible } from '../parts/visible.ts'
import { figurePattern } from './figure-pattern.ts'
import type { TaskPageSearch } from './selection.ts'

const highlight = 'figure'

export function MarkedFigure({ show }: { readonly show: (change: TaskPageSearch) => void }): ReactNode {
  const { figure } = useSearch({ from: '/tasks/$taskId' })
  const own = useRef<HTMLParagraphElement>(null)
  const [places, setPlaces] = useState(0)
  useEffect(() => {
    const within = own.current?.parentElement
    const pattern = figure === undefined ? null : figurePattern(figure)
    if (within === null || within === undefined || pattern === null || !('highlights' in CSS)) return
    let isSeen = false
    const mark = (): void => {
      const ranges = [...within.querySelectorAll('.json')].flatMap((part) => rangesIn(part, pattern))
      CSS.highlights.set(highlight, new Highlight(...ranges))
      setPlaces(ranges.length)
      if (!isSeen) ranges[0]?.startContainer.parentElement?.scrollIntoView({ block: 'nearest' })
      isSeen ||= ranges.length > 0
    }
    mark()
    // The event comes later, and a long text can be opened.
    const observer = new MutationObserver(mark)
    observer.observe(within, { childList: true, subtree: true })
    return () => {
      observer.disconnect()
      CSS.highlights.delete(highlight)
    }
  }, [figure])
  if (figure === undefined) return null
  return (
    <p className="marked-figure" ref={own}>
      <span role="status">
        <strong>{visible(figure)}</strong> {places === 0 ? 'is not marked in this event' : 'is marked below'}
      </span>{' '}
      <button type="button" className="link" onClick={() => show({ event: undefined })}>
        Back to the report
      </button>
    </p>
  )
}

function rangesIn(part: Element, pattern: RegExp): Range[] {
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT)
  const ranges: Range[] = []
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
    for (const { index, 0: text } of (node.nodeValue ?? '').matchAll(pattern)) {
      const range = new Range()
      range.setStart(node, index)
      range.setEnd(node, index + text.length)
      ranges.push(range)
    }
  return ranges
}
