// Cancelling or retrying all tasks of a list. A dialog counts them first, and says what would happen. Then it
// asks for a part at a time, so a person sees how far it is and can stop it. What the count did not have is
// never reached.
import type { BulkCount, BulkRequest, BulkResult, BulkVerb } from '@beaver/contracts'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { ApiProblem, request } from '../data/api.ts'
import { useMay } from '../data/me.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Loading, Problem, Refusal } from '../parts/problem.tsx'
import { Status } from '../parts/status.tsx'
import { Line } from '../parts/text.tsx'
import { visible } from '../parts/visible.ts'
import {
  added,
  begun,
  countSentences,
  filterLines,
  outcomeSentences,
  type Progress,
  progressText,
  verbsOf,
} from './bulk-words.ts'
import type { TaskSearch } from './task-search.ts'
import './bulk.css'

interface BulkProps {
  readonly search: TaskSearch
  readonly filter: BulkRequest['filter']
}

export function BulkButtons({ search, filter }: BulkProps): ReactNode {
  const [maySubmit, mayRead] = [useMay('submit'), useMay('read')]
  const [verb, setVerb] = useState<BulkVerb | null>(null)
  if (!maySubmit || !mayRead) return null
  return (
    <span className="bulk-buttons">
      {verbsOf(search).map((each) => (
        <button
          key={each}
          type="button"
          className={each === 'cancel' ? 'bad' : ''}
          onClick={() => setVerb(each)}
        >
          {each === 'cancel' ? 'Cancel these …' : 'Retry these …'}
        </button>
      ))}
      {verb === null ? null : (
        <Bulk verb={verb} search={search} filter={filter} close={() => setVerb(null)} />
      )}
    </span>
  )
}

/** So many tasks are asked for at a time: few enough to see how far it is, and to stop. */
const stepMax = 40

const send = <Answer,>(body: BulkRequest, signal?: AbortSignal): Promise<Answer> =>
  request('/api/v1/tasks/bulk', { method: 'POST', body, ...(signal === undefined ? {} : { signal }) })

const reasonOf = (error: unknown): string => (error instanceof ApiProblem ? error.message : String(error))

/** `problem`: why it did not go on. */
type Phase =
  | { readonly is: 'counting' }
  | { readonly is: 'uncounted'; readonly error: unknown }
  | { readonly is: 'counted'; readonly count: BulkCount }
  | { readonly is: 'working'; readonly count: BulkCount; readonly progress: Progress }
  | {
      readonly is: 'over'
      readonly count: BulkCount
      readonly progress: Progress
      readonly problem: string | null
    }

interface Work {
  readonly phase: Phase
  readonly recount: () => void
  /** Does the tasks of a count from a place on, until somebody stops it. */
  readonly work: (count: BulkCount, from: Progress, reason: string) => Promise<void>
  readonly stop: () => void
}

function useWork(verb: BulkVerb, filter: BulkRequest['filter']): Work {
  const [phase, setPhase] = useState<Phase>({ is: 'counting' })
  const client = useQueryClient()
  const isStopped = useRef(false)
  const isCounting = phase.is === 'counting'
  useEffect(() => {
    if (!isCounting) return
    const left = new AbortController()
    send<BulkCount>({ verb, filter, dry_run: true }, left.signal).then(
      (count) => setPhase({ is: 'counted', count }),
      (error: unknown) => {
        if (!left.signal.aborted) setPhase({ is: 'uncounted', error })
      },
    )
    return () => left.abort()
  }, [verb, filter, isCounting])
  useEffect(() => () => void (isStopped.current = true), [])
  return {
    phase,
    recount: () => setPhase({ is: 'counting' }),
    stop: () => void (isStopped.current = true),
    async work(count, from, reason) {
      isStopped.current = false
      let [progress, problem] = [from, null as string | null]
      while (progress.next !== null && problem === null && !isStopped.current) {
        setPhase({ is: 'working', count, progress })
        const why = verb === 'cancel' && reason !== '' ? { reason } : {}
        try {
          // The same place again is harmless, so an answer that was lost is asked for again by "Go on".
          const body = { verb, filter, dry_run: false, before: progress.next, limit: stepMax, ...why }
          const result = await send<BulkResult>(body)
          progress = added(progress, result)
          problem = result.stopped?.message ?? null
        } catch (error) {
          problem = reasonOf(error)
        }
      }
      setPhase({ is: 'over', count, progress, problem })
      void client.invalidateQueries({ queryKey: ['task_count'] })
    },
  }
}

function Bulk({
  verb,
  search,
  filter: given,
  close,
}: BulkProps & { readonly verb: BulkVerb; readonly close: () => void }): ReactNode {
  // The list behind the dialog may change; what is counted and what is done is for one filter.
  const [filter] = useState(given)
  const { phase, recount, work, stop } = useWork(verb, filter)
  const [reason, setReason] = useState('')
  const isBusy = phase.is === 'working'
  // The button that began the work goes away, and a keyboard must not be left outside.
  const firstButton = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    if (phase.is === 'working' || phase.is === 'over') firstButton.current?.focus()
  }, [phase.is])
  return (
    <Dialog
      title={verb === 'cancel' ? 'Cancel these tasks' : 'Retry these tasks'}
      close={close}
      isBusy={isBusy}
    >
      <div className="ask bulk">
        <dl>
          {filterLines(search).map(([name, value]) => (
            <FilterLine key={name} name={name} value={value} />
          ))}
        </dl>
        {phase.is === 'counting' ? <Loading /> : null}
        {phase.is === 'uncounted' ? <Problem error={phase.error} again={recount} /> : null}
        {phase.is === 'counted' ? <Counted verb={verb} count={phase.count} /> : null}
        {phase.is === 'counted' && phase.count.able > 0 && verb === 'cancel' ? (
          <>
            <label htmlFor="bulk-reason">Why (the record of each task keeps it)</label>
            <input
              id="bulk-reason"
              maxLength={1_000}
              value={reason}
              onChange={({ target }) => setReason(target.value)}
            />
          </>
        ) : null}
        {phase.is === 'working' ? (
          <p role="status">
            <progress
              aria-label="How far it is"
              max={Math.max(1, phase.count.able)}
              value={phase.progress.done + phase.progress.refused.length}
            />{' '}
            {progressText(phase.count, phase.progress)}
          </p>
        ) : null}
        {phase.is === 'over' ? <Over verb={verb} {...phase} /> : null}
        <div className="buttons">
          {isBusy ? (
            <button ref={firstButton} type="button" onClick={stop}>
              Stop
            </button>
          ) : (
            <button ref={firstButton} type="button" onClick={close}>
              Close
            </button>
          )}
          {phase.is === 'counted' && phase.count.able > 0 ? (
            <button
              type="button"
              className={verb === 'cancel' ? 'bad' : 'main'}
              onClick={() => void work(phase.count, begun(phase.count), reason.trim())}
            >
              {verb === 'cancel' ? 'Cancel the tasks' : 'Retry the tasks'}
            </button>
          ) : null}
          {phase.is === 'over' && phase.progress.next !== null ? (
            <button
              type="button"
              className="main"
              onClick={() => void work(phase.count, phase.progress, reason.trim())}
            >
              Go on
            </button>
          ) : null}
        </div>
      </div>
    </Dialog>
  )
}

const FilterLine = ({ name, value }: { readonly name: string; readonly value: string }): ReactNode => (
  <>
    <dt>{name}</dt>
    <dd>
      <Line text={value} />
    </dd>
  </>
)

function Counted({ verb, count }: { readonly verb: BulkVerb; readonly count: BulkCount }): ReactNode {
  const [first = '', ...others] = countSentences(verb, count)
  const more = count.able - count.tasks.length
  return (
    <>
      <p role="status">
        <strong>{first}</strong> {others.join(' ')}
      </p>
      {count.able === 0 ? null : (
        <p className="quiet">
          {verb === 'cancel'
            ? 'All their agents stop. Calls that have begun may have had an effect. A task that is submitted from now on is not touched.'
            : 'For each, a new task keeps what completed, and runs the rest again.'}
        </p>
      )}
      {count.tasks.length === 0 ? null : (
        <ul className="some" tabIndex={0} aria-label="The newest of them">
          {count.tasks.map((task) => (
            <li key={task.task_id}>
              <Status status={task.status} />
              <Line text={task.title ?? task.text ?? task.task_id} />
            </li>
          ))}
          {more > 0 ? <li className="quiet">and {count.at_least ? 'others' : `${more} more`}</li> : null}
        </ul>
      )}
    </>
  )
}

interface OverProps {
  readonly verb: BulkVerb
  readonly count: BulkCount
  readonly progress: Progress
  readonly problem: string | null
}

function Over({ verb, count, progress, problem }: OverProps): ReactNode {
  const sentences = outcomeSentences(verb, { count, progress, problem })
  const { refused } = progress
  return (
    <>
      {problem === null ? (
        <p role="status">{sentences.join(' ')}</p>
      ) : (
        <Refusal problem={sentences.join(' ')} />
      )}
      {refused.length === 0 ? null : (
        <ul className="some" tabIndex={0} aria-label="The refused tasks">
          {refused.map(({ task_id, code, message }, at) => (
            <li key={`${at} ${task_id}`} className="refused">
              <Link to="/tasks/$taskId" params={{ taskId: task_id }} search={{}}>
                <Line text={task_id} />
              </Link>
              <span>
                <code>{code}</code> {visible(message)}
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
