// What agents write at this moment. The page follows the stream of the task while it is open; a task that was
// not submitted with "stream" has no pieces of answers, and then nothing is shown.
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { keepConnected } from '../data/live.ts'
import { Line } from '../parts/text.tsx'
import { visible } from '../parts/visible.ts'
import { evolveLive, type LiveMessage, type LiveState, nothingLive } from './live-text.ts'

/** The page is drawn again at most so often, in milliseconds. */
const drawMs = 250

/**
 * Follows what a task writes.
 *
 * @param last the place of the last event that the page knows. `null`: the task has ended, or is not known
 */
export function useLive(taskId: string, last: number | null): LiveState {
  const [state, setState] = useState(nothingLive)
  const known = useRef(last)
  useEffect(() => {
    known.current = last
  }, [last])
  const isOpen = last !== null
  useEffect(() => {
    if (!isOpen) return
    const stop = new AbortController()
    // After a lost connection it goes on behind the last event that came.
    let place = known.current ?? 0
    let gathered: LiveMessage[] = []
    let timer: number | undefined
    const onMessage = (event: string, data: string, id: string | undefined): void => {
      if (id !== undefined && id !== '') place = Number(id)
      gathered.push({ event, data })
      timer ??= setTimeout(() => {
        timer = undefined
        const messages = gathered
        gathered = []
        setState((now) => evolveLive(now, messages))
      }, drawMs)
    }
    const path = (): string => `/api/v1/tasks/${encodeURIComponent(taskId)}/events?live=true&after=${place}`
    void keepConnected({ path, onMessage }, stop.signal)
    return () => {
      stop.abort()
      clearTimeout(timer)
      setState(nothingLive)
    }
  }, [taskId, isOpen])
  return state
}

/** So many agents are shown if no agent is chosen. */
const shownMax = 3

export interface WritesProps {
  readonly live: LiveState
  /** `null`: of all agents, those that wrote last. */
  readonly runId: string | null
}

export function Writes({ live, runId }: WritesProps): ReactNode {
  const writing = [...live.writing].filter(([id]) => runId === null || id === runId)
  const progress = [...live.progress].filter(([, { run_id: id }]) => runId === null || id === runId)
  if (writing.length === 0 && progress.length === 0) return null
  return (
    <section className="card writes">
      {writing.length === 0 ? null : <h2>What {runId === null ? 'agents write' : 'it writes'} now</h2>}
      {writing.slice(-shownMax).map(([id, { name, text, isPart }]) => (
        <div key={id}>
          {runId === null ? (
            <h3>
              <Line text={name} />
            </h3>
          ) : null}
          <pre tabIndex={0}>
            {isPart ? '… ' : ''}
            {visible(text)}
          </pre>
        </div>
      ))}
      {progress.slice(-shownMax).map(([id, call]) => (
        <p key={id}>
          <Line text={call.tool_name} /> <progress value={call.progress} {...maxOf(call.total)} />{' '}
          {call.message === null ? null : <Line text={call.message} />}
        </p>
      ))}
    </section>
  )
}

const maxOf = (total: number | null): { readonly max?: number } =>
  total === null || total <= 0 ? {} : { max: total }
