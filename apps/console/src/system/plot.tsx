// A plot by day: a bar for each day, drawn as SVG, so that its colours are those of the theme. A reader of
// screens hears one sentence; the same numbers are in the table of the page.
import type { ReactNode } from 'react'
import { moneyText, numberText, shortNumber } from '../parts/time.ts'
import { type Day, namedDays, topOf } from './days.ts'
import type { Measure } from './search.ts'

const namesMax = 5
/** The height of the drawing in its own units; the page stretches it. */
const height = 100
/** So many units of a day's width are its bar. */
const barWidth = 0.72
/** A bar of very little can still be seen. */
const heightMin = 0.6

export function Plot({
  days,
  measure,
}: {
  readonly days: readonly Day[]
  readonly measure: Measure
}): ReactNode {
  const top = topOf(days.map(({ value }) => value ?? 0))
  const long = measure === 'cost' ? moneyText : numberText
  const short = measure === 'cost' ? moneyText : shortNumber
  const textOf = ({ value, isPart }: Day): string =>
    value === null
      ? 'cost unknown'
      : `${isPart ? '≥ ' : ''}${long(value)}${measure === 'tokens' ? ' tokens' : ''}`
  const hasUnknown = days.some(({ isPart }) => isPart)
  return (
    <figure className="plot">
      <figcaption className="quiet small">
        {measure === 'cost' ? 'US dollars' : 'Tokens in and out'} by day, UTC
        {hasUnknown ? (
          <span className="key">
            <svg viewBox="0 0 10 10" aria-hidden="true">
              <rect width="10" height="10" className="unknown" />
            </svg>
            the cost of this day, or of a part of it, is not known
          </span>
        ) : null}
      </figcaption>
      <div className="scale quiet small" aria-hidden="true">
        <span>{short(top)}</span>
        <span>{short(top / 2)}</span>
        <span>0</span>
      </div>
      <svg
        className="bars"
        role="img"
        aria-label={summaryOf(days, textOf)}
        viewBox={`0 0 ${Math.max(1, days.length)} ${height}`}
        preserveAspectRatio="none"
      >
        {[0, 0.5].map((at) => (
          <line key={at} x1={0} x2={Math.max(1, days.length)} y1={at * height} y2={at * height} />
        ))}
        {days.map((day, at) => {
          const drawn = day.value === null || day.value === 0 ? 0 : (day.value / top) * height
          const bar = drawn === 0 ? 0 : Math.max(heightMin, drawn)
          return (
            <g key={day.day}>
              <title>{`${day.day}: ${textOf(day)}`}</title>
              <rect x={at} width={1} y={0} height={height} className="place" />
              {day.isPart ? (
                <rect
                  x={at + (1 - barWidth) / 2}
                  width={barWidth}
                  y={0}
                  height={height}
                  className="unknown"
                />
              ) : null}
              <rect
                x={at + (1 - barWidth) / 2}
                width={barWidth}
                y={height - bar}
                height={bar}
                className="height"
              />
            </g>
          )
        })}
      </svg>
      <div className="names quiet small" aria-hidden="true">
        {namedDays(days, namesMax).map((at) => (
          <span key={at}>{days[at]?.day.slice(5)}</span>
        ))}
      </div>
    </figure>
  )
}

function summaryOf(days: readonly Day[], textOf: (day: Day) => string): string {
  const first = days[0]
  const last = days.at(-1)
  if (first === undefined || last === undefined) return 'No day.'
  const most = days.reduce((one, other) => ((other.value ?? 0) > (one.value ?? 0) ? other : one))
  return `${days.length} days from ${first.day} to ${last.day}. The most is on ${most.day}: ${textOf(most)}. The table has all numbers.`
}
