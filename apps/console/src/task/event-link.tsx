// A link to an event of the task that is shown. It is a permanent address, which a person can copy or open beside.
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

export interface EventLinkProps {
  readonly taskseq: number
  /** Default: "event" and its number. */
  readonly children?: ReactNode
  /** Default: the keys reach it. */
  readonly tabIndex?: number
}

export const EventLink = ({ taskseq, children, ...rest }: EventLinkProps): ReactNode => (
  <Link
    from="/tasks/$taskId"
    to="."
    search={(now) => ({ ...now, event: taskseq })}
    replace
    resetScroll={false}
    className="event-link"
    {...rest}
  >
    {children ?? `event ${taskseq}`}
  </Link>
)
