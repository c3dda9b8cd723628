// A budget that has no place for the next call: who used it, and how much more to give.
import { type FormEvent, type ReactNode, useState } from 'react'
import { useMay } from '../data/me.ts'
import { newId } from '../data/new-id.ts'
import { suggestedMore } from '../parts/command.ts'
import { Refusal } from '../parts/problem.tsx'
import { Line } from '../parts/text.tsx'
import { moneyText, numberText } from '../parts/time.ts'
import { visible } from '../parts/visible.ts'
import { When } from '../parts/when.tsx'
import { type EntryProps, useSettle, verbPath } from './entry.ts'

const measures: Readonly<Record<string, string>> = {
  usd: 'US dollars',
  tokens: 'tokens',
  model_calls: 'calls of models',
  tool_calls: 'calls of tools',
  wall_ms: 'milliseconds of work',
}

const amount = (measure: string, value: number): string =>
  measure === 'usd' ? moneyText(value) : `${numberText(value)} ${measures[measure] ?? measure}`

export function BudgetWait({ entry, done }: EntryProps<'budget'>): ReactNode {
  const { budget } = entry
  const [mayApprove, mayAdmin] = [useMay('approve'), useMay('admin')]
  const may = budget.shared ? mayAdmin : mayApprove
  const [more, setMore] = useState(String(suggestedMore(budget.needed, budget.limit)))
  const [reason, setReason] = useState('')
  const { isBusy, problem, setProblem, settle } = useSettle(done)
  // One id for one gift: a second click gives nothing a second time.
  const [requestId] = useState(newId)
  const { of, per, name } = budget.budget as { of: string; per: string; name?: string }

  const give = (event: FormEvent): void => {
    event.preventDefault()
    const given = Number(more)
    if (!Number.isFinite(given) || given <= 0) return setProblem('Give an amount above 0.')
    void settle(
      budget.shared ? '/api/v1/budgets/raise' : verbPath(entry.task_id, 'raise'),
      {
        more: { [budget.measure]: given },
        request_id: requestId,
        ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
        ...(budget.shared ? { of, per, ...(name === undefined ? {} : { name }) } : {}),
        ...(!budget.shared && budget.node_id !== null ? { node_id: budget.node_id } : {}),
      },
      `You gave ${amount(budget.measure, given)} more.`,
    )
  }
  return (
    <form className="ask" onSubmit={give}>
      <h2>A budget has no place for the next call</h2>
      <p>The task waits, because {visible(budget.reason)}.</p>
      {budget.spent_by.length === 0 ? null : (
        <dl>
          {budget.spent_by.map((spent) => (
            <div key={`${spent.task_id} ${spent.node_id} ${spent.agent_name}`} className="pair">
              <dt>
                <Line text={spent.agent_name ?? spent.task_id ?? 'this task'} />
              </dt>
              <dd>{amount(budget.measure, spent.used)}</dd>
            </div>
          ))}
        </dl>
      )}
      <p className="quiet small">
        If nobody gives more, the run ends <When time={budget.expires_at} />.
      </p>
      <Refusal problem={problem} />
      {may ? (
        <>
          <label htmlFor="more">More, in {measures[budget.measure] ?? budget.measure}</label>
          <input
            id="more"
            inputMode="decimal"
            value={more}
            onChange={({ target }) => setMore(target.value)}
          />
          <label htmlFor="more-reason">Why (the record keeps it)</label>
          <input id="more-reason" value={reason} onChange={({ target }) => setReason(target.value)} />
          <div className="buttons">
            <button type="submit" className="main" disabled={isBusy}>
              Give more
            </button>
          </div>
        </>
      ) : (
        <p className="quiet">
          Your token may not give more: it does not have the role {budget.shared ? 'admin' : 'approve'}.
        </p>
      )}
    </form>
  )
}
