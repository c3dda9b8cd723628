// A unified diff, line by line. What is added and what is removed has a sign, so that no reader needs the
// colour.
import type { ReactNode } from 'react'
import { numberText } from './time.ts'
import { visible } from './visible.ts'

export interface DiffProps {
  readonly diff: string
  /** How many lines are left out at the end. */
  readonly leftOut: number
}

export const Diff = ({ diff, leftOut }: DiffProps): ReactNode => (
  <div className="diff" tabIndex={0} role="group" aria-label="What would change">
    {diff.split('\n').map((line, index) => (
      <div key={index} className={classOf(line)}>
        {visible(line) || ' '}
      </div>
    ))}
    {leftOut === 0 ? null : (
      <div className="quiet">{numberText(leftOut)} more lines are left out; the event has all of them.</div>
    )}
  </div>
)

function classOf(line: string): string {
  if (/^(?:---|\+\+\+|@@|diff |index )/.test(line)) return 'quiet'
  if (line.startsWith('+')) return 'added'
  return line.startsWith('-') ? 'removed' : ''
}
