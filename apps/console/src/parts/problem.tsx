// What a page shows instead of data: that it waits, that there is nothing, or why it could not be read. An
// error is never shown as "no results".
import type { ReactNode } from 'react'
import { ApiProblem } from '../data/api.ts'

export function Problem({
  error,
  again,
}: {
  readonly error: unknown
  readonly again?: () => void
}): ReactNode {
  const { code, message } =
    error instanceof ApiProblem
      ? error
      : {
          code: 'internal',
          message: 'The page has a fault. Load it again; if that does not help, report it.',
        }
  return (
    <div className="problem" role="alert">
      <strong>This could not be read.</strong>
      <p>{message}</p>
      <p className="quiet">
        <code>{code}</code>
      </p>
      {again === undefined ? null : (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Why something was not done. */
export const Refusal = ({ problem }: { readonly problem: string | null }): ReactNode =>
  problem === null ? null : (
    <p className="problem" role="alert">
      {problem}
    </p>
  )

/** A list without rows, or a part of a task that is not there, and what one can do about it. */
export const Empty = ({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ReactNode
}): ReactNode => (
  <div className="empty">
    <strong>{title}</strong>
    {children === undefined ? null : <div className="quiet">{children}</div>}
  </div>
)

export const Loading = (): ReactNode => (
  <p className="loading" role="status">
    Loading …
  </p>
)
