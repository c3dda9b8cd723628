// What calls of models cost. A cost that is not known is "unknown", and one that is known in part "at least":
// never 0.
import type { ReactNode } from 'react'
import { moneyText } from './time.ts'

export interface CostProps {
  readonly of: {
    readonly calls: number
    /** US dollars. `null`: not known. Absent: the gateway is older than the page. */
    readonly cost_usd?: number | null | undefined
    readonly cost_usd_known?: number | undefined
  }
}

export function Cost({ of: { calls, cost_usd, cost_usd_known } }: CostProps): ReactNode {
  if (calls === 0) return <span className="quiet">–</span>
  if (cost_usd !== undefined && cost_usd !== null) return moneyText(cost_usd)
  if (cost_usd_known !== undefined)
    return (
      <span title="At least this: the cost of some calls is not known.">≥ {moneyText(cost_usd_known)}</span>
    )
  return (
    <span className="quiet" title="The price of the model is not known.">
      unknown
    </span>
  )
}
