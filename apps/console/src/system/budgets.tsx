// The budgets that tasks share, on the System page.
import type { SystemState } from '@beaver/contracts'
import type { ReactNode } from 'react'
import { Status } from '../parts/status.tsx'
import { Line } from '../parts/text.tsx'
import { moneyText, numberText } from '../parts/time.ts'
import { visible } from '../parts/visible.ts'
import { counted } from './look.ts'

const measures = [
  ['usd', 'cost'],
  ['tokens', 'tokens'],
  ['model_calls', 'calls of models'],
  ['tool_calls', 'calls of tools'],
] as const

export function Budgets({ budgets }: { readonly budgets: SystemState['budgets'] }): ReactNode {
  if (budgets.problem === null && budgets.list.length === 0) return null
  const more = (budgets.total ?? 0) - budgets.list.length
  return (
    <section aria-labelledby="budgets">
      <h2 id="budgets">Budgets that tasks share</h2>
      {budgets.problem === null ? null : (
        <p className="quiet">They are not known: {visible(budgets.problem)}</p>
      )}
      <ul className="cards">
        {budgets.list.map((each) => (
          <BudgetCard key={`${each.of} ${each.name ?? ''} ${each.per}`} budget={each} />
        ))}
      </ul>
      {more > 0 ? <p className="quiet">{counted(more, 'budget')} more: beaver budget</p> : null}
    </section>
  )
}

function BudgetCard({ budget }: { readonly budget: SystemState['budgets']['list'][number] }): ReactNode {
  const { of, name, per, limits, used, reserved } = budget
  return (
    <li className="card">
      <h3>
        <Line
          text={`${of}${name === undefined ? '' : ` ${name}`}, ${per === 'run' ? 'its whole life' : `each ${per}`}`}
        />
      </h3>
      <Status status={budget.waiting_tasks > 0 ? 'used_up' : 'has_place'} />
      <dl>
        {measures.map(([measure, words]) => {
          const limit = limits[measure]
          if (limit === undefined) return null
          const amount = (value: number): string => (measure === 'usd' ? moneyText(value) : numberText(value))
          const taken = used[measure] + reserved[measure]
          return (
            <div key={measure} className="pair">
              <dt>{words}</dt>
              <dd>
                {amount(taken)} of {amount(limit)}
                <meter min={0} max={limit} value={Math.min(taken, limit)} aria-label={`Used ${words}`} />
              </dd>
            </div>
          )
        })}
        <dt>tasks</dt>
        <dd>
          {numberText(budget.open_tasks)} open
          {budget.waiting_tasks > 0 ? `, ${numberText(budget.waiting_tasks)} wait` : ''}
        </dd>
      </dl>
    </li>
  )
}
