// Finds the figures of a report for a page, and says whether a tool returned one. It reads figures as the gate
// does, and loads no schema.
import { figuresIn } from './figures.ts'
import { KnownFigures } from './known-figures.ts'
import { resultTexts } from './result-texts.ts'
import { statedMagnitudes } from './units.ts'

/** A figure in a text: its beginning, and its end, which does not belong to it. */
export interface FigurePlace {
  readonly from: number
  readonly to: number
}

/**
 * Where the figures of a text are, in their order. A figure in words, such as "two million", has no place.
 *
 * @example figurePlaces('EUR 1,250 in UTF-8') // => [{ from: 0, to: 9 }]
 */
export function figurePlaces(text: string): readonly FigurePlace[] {
  let after = 0
  return figuresIn(text).flatMap(({ shown }) => {
    const from = text.indexOf(shown, after)
    if (from === -1) return []
    after = from + shown.length
    return [{ from, to: after }]
  })
}

/**
 * Whether a tool returned a figure of a report.
 *
 * @param figure the figure as the report has it, such as "EUR 1,250"
 * @example
 * const report = 'In million: 1.2'
 * figureStands('1.2', { report, result: '{"total":1200000}' }) // => true
 */
export function figureStands(
  figure: string,
  { report, result }: { readonly report: string; readonly result: string },
): boolean {
  const known = new KnownFigures()
  for (const text of resultTexts(result)) known.learn(text)
  const stated = statedMagnitudes(report)
  const figures = figuresIn(figure)
  return figures.length > 0 && figures.every((each) => known.has(each, stated))
}
