// What changes while somebody looks. One stream of changes feeds the whole page (`GET /api/v1/changes`): it says
// which tasks changed, after the read model has the new state, and the page asks again for what it shows. After
// a lost connection everything is asked for again, so nothing is missed. A tab that nobody sees closes its
// stream, because a browser allows a host six connections in all.
import type { QueryClient } from '@tanstack/react-query'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { useEffect, useSyncExternalStore } from 'react'
import { token } from './session.ts'

/** A task that changed, as the stream tells it. */
export interface ChangedTask {
  readonly task_id: string
  readonly taskseq: number
  readonly status: string
}

/** `since`: when the connection was lost, in milliseconds. */
export type Connection = { readonly is: 'live' | 'paused' } | { readonly is: 'lost'; readonly since: number }

/** Changes of one task within this time are one, in milliseconds. */
const gatherMs = 300
/** Lists of many tasks are asked again at most this often, in milliseconds. */
const listsMs = 1_500
const waitMs = { least: 500, most: 10_000 } as const
/** How long a hidden tab keeps its stream, in milliseconds. */
const hiddenMs = 10_000

let connection: Connection = { is: 'paused' }
const watchers = new Set<() => void>()
const listeners = new Set<(tasks: readonly ChangedTask[]) => void>()

function becomes(next: Connection): void {
  if (next.is === connection.is) return
  connection = next
  for (const each of watchers) each()
}

/** Whether the page hears of changes. */
export const useConnection = (): Connection =>
  useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher)
      return () => void watchers.delete(watcher)
    },
    () => connection,
  )

/** Calls the listener with the tasks that changed, at most a few times a second. */
export function useChanges(listener: (tasks: readonly ChangedTask[]) => void): void {
  useEffect(() => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [listener])
}

/** The queries whose answers are about one task; its id is the second part of the key. */
const ofTask = new Set(['task', 'timeline', 'run', 'spans', 'prompt'])
/** The queries whose answers are about many tasks. */
const ofMany = new Set(['inbox', 'sessions', 'session', 'task_count'])

/** Follows the changes until `signal` aborts. Called once, by the frame of the page. */
export function followChanges(client: QueryClient, signal: AbortSignal): void {
  const gathered = new Map<string, ChangedTask>()
  let timer: number | undefined
  let listsAt = 0
  const tell = (): void => {
    timer = undefined
    const tasks = [...gathered.values()]
    gathered.clear()
    for (const each of listeners) each(tasks)
    const ids = new Set(tasks.map(({ task_id }) => task_id))
    // An answer that is under way is not thrown away: on a busy system there would never be one.
    void client.invalidateQueries(
      { predicate: ({ queryKey: [name, id] }) => ofTask.has(String(name)) && ids.has(String(id)) },
      { cancelRefetch: false },
    )
    if (Date.now() - listsAt < listsMs) return void (timer = setTimeout(tell, listsMs))
    listsAt = Date.now()
    void client.invalidateQueries(
      { predicate: ({ queryKey: [name] }) => ofMany.has(String(name)) },
      { cancelRefetch: false },
    )
  }
  const onMessage = (event: string, data: string): void => {
    becomes({ is: 'live' })
    if (event === 'changed')
      for (const each of (JSON.parse(data) as { tasks: readonly ChangedTask[] }).tasks)
        gathered.set(each.task_id, each)
    // After `hello` and `reset` anything may be different. What is in the journal stays as it is.
    else if (event === 'hello' || event === 'reset')
      void client.invalidateQueries({
        predicate: ({ queryKey: [name] }) => name !== 'event' && name !== 'me',
      })
    if (gathered.size > 0) timer ??= setTimeout(tell, gatherMs)
  }
  signal.addEventListener('abort', () => clearTimeout(timer))
  void keepConnected(onMessage, signal)
}

async function keepConnected(
  onMessage: (event: string, data: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let wait: number = waitMs.least
  while (!signal.aborted) {
    await shown(signal)
    const stop = new AbortController()
    const end = (): void => stop.abort()
    signal.addEventListener('abort', end)
    const stopWatching = whenHidden(() => {
      becomes({ is: 'paused' })
      stop.abort()
    })
    try {
      await readOnce((event, data) => {
        wait = waitMs.least
        onMessage(event, data)
      }, stop.signal)
    } catch {
      // It is lost, or nobody wants it any more.
    }
    signal.removeEventListener('abort', end)
    stopWatching()
    if (signal.aborted || document.hidden) continue
    becomes({ is: 'lost', since: Date.now() })
    // All tabs of all people come back at different moments.
    await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random())))
    wait = Math.min(waitMs.most, wait * 2)
  }
}

async function readOnce(
  onMessage: (event: string, data: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const answer = await fetch('/api/v1/changes', {
    headers: { accept: 'text/event-stream', authorization: `Bearer ${token.read() ?? ''}` },
    credentials: 'omit',
    signal,
  })
  if (!answer.ok || answer.body === null) throw new Error(`The stream was refused with ${answer.status}.`)
  const messages = answer.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  const reader = messages.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    onMessage(value.event ?? '', value.data)
  }
}

/** Resolves when somebody can see the tab. */
function shown(signal: AbortSignal): Promise<void> {
  if (!document.hidden || signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const look = (): void => {
      if (document.hidden && !signal.aborted) return
      document.removeEventListener('visibilitychange', look)
      resolve()
    }
    document.addEventListener('visibilitychange', look)
    signal.addEventListener('abort', look, { once: true })
  })
}

/** Calls `act` when the tab has been hidden for a while. @returns stops looking */
function whenHidden(act: () => void): () => void {
  let timer: number | undefined
  const look = (): void => {
    clearTimeout(timer)
    if (document.hidden) timer = setTimeout(act, hiddenMs)
  }
  document.addEventListener('visibilitychange', look)
  look()
  return () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', look)
  }
}
