// What changes while somebody looks. One stream of changes feeds the whole page (`GET /api/v1/changes`): it says
// which tasks changed, after the read model has the new state, and the page asks again for what it shows. After
// a lost connection everything is asked for again, so nothing is missed. A tab that nobody sees closes its
// stream, because a browser allows a host six connections in all.
import type { QueryClient } from '@tanstack/react-query'
import { createParser } from 'eventsource-parser'
import { useEffect, useSyncExternalStore } from 'react'
import { askingAgain } from './ask-again.ts'
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
const gatherMs = 100
/** Lists of many tasks are asked again at most this often, in milliseconds. */
const listsMs = 1_500
const waitMs = { least: 500, most: 5_000 } as const
/** The gateway sends a comment every 15 s; after a silence of this time the stream is dead, in milliseconds. */
const silentMs = 40_000
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

/** Calls the listener with the tasks that changed, at most ten times a second. */
export function useChanges(listener: (tasks: readonly ChangedTask[]) => void): void {
  useEffect(() => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [listener])
}

/** Hears of each change of a task. `null`: anything may be different. */
type HearNews = (task: ChangedTask | null) => void
const news = new Set<HearNews>()
/** News of one task come at most so often, in milliseconds. */
const newsMs = 50

/**
 * Calls the listener with the place of the newest event when the task has changed: at once, but not more often
 * than every 50 ms.
 *
 * @param listener `null`: there may be new events, such as after a lost connection
 */
export function useNews(taskId: string, listener: (taskseq: number | null) => void): void {
  useEffect(() => {
    let newest: number | null = 0
    let told = -Infinity
    let timer: number | undefined
    const tell = (): void => {
      timer = undefined
      told = performance.now()
      const place = newest
      newest = 0
      listener(place)
    }
    const hear: HearNews = (task) => {
      if (task !== null && task.task_id !== taskId) return
      newest = task === null || newest === null ? null : Math.max(newest, task.taskseq)
      const waitMs = told + newsMs - performance.now()
      if (waitMs <= 0 && timer === undefined) tell()
      else timer ??= setTimeout(tell, waitMs)
    }
    news.add(hear)
    return () => {
      news.delete(hear)
      clearTimeout(timer)
    }
  }, [taskId, listener])
}

/** The queries whose answers are about one task; its id is the second part of the key. */
const ofTask = new Set<unknown>(['task', 'run', 'spans', 'prompt', 'graph', 'node', 'waits'])
/** The queries whose answers are about many tasks. */
const ofMany = new Set<unknown>(['inbox', 'sessions', 'session', 'task_count', 'memory'])

/** Follows the changes until `signal` aborts. Called once, by the frame of the page. */
export function followChanges(client: QueryClient, signal: AbortSignal): void {
  const gathered = new Map<string, ChangedTask>()
  const ask = askingAgain(client, signal)
  const tellTasks = inTime(gatherMs, () => {
    const tasks = [...gathered.values()]
    gathered.clear()
    for (const each of listeners) each(tasks)
    const ids = new Set<unknown>(tasks.map(({ task_id }) => task_id))
    ask((name, id) => ofTask.has(name) && ids.has(id))
  })
  const tellLists = inTime(listsMs, () => ask((name) => ofMany.has(name)))
  const onMessage = (event: string, data: string): void => {
    becomes({ is: 'live' })
    if (event === 'changed') {
      for (const each of (JSON.parse(data) as { tasks: readonly ChangedTask[] }).tasks) {
        gathered.set(each.task_id, each)
        for (const hear of news) hear(each)
      }
      tellTasks.soon()
      tellLists.soon()
    }
    // After `hello` and `reset` anything may be different. What is in the journal stays as it is.
    else if (event === 'hello' || event === 'reset') {
      ask((name) => name !== 'event' && name !== 'me')
      for (const hear of news) hear(null)
    }
  }
  signal.addEventListener('abort', () => {
    tellTasks.stop()
    tellLists.stop()
  })
  const onRefused = (): void => ask((name) => name === 'me')
  void keepConnected({ path: () => '/api/v1/changes', onMessage, onRefused, onState: becomes }, signal)
}

/** Acts once within `ms` after the first of many calls. */
function inTime(ms: number, act: () => void): { soon(): void; stop(): void } {
  let timer: number | undefined
  return {
    soon() {
      timer ??= setTimeout(() => {
        timer = undefined
        act()
      }, ms)
    },
    stop: () => clearTimeout(timer),
  }
}

export interface Stream {
  /** What is asked for, when it connects and when it connects again. */
  path(): string
  /** `id`: where a reader goes on after this message. */
  onMessage(event: string, data: string, id: string | undefined): void
  /** Called if the gateway does not accept the token any more. Default: nothing. */
  readonly onRefused?: () => void
  /** Called with what the connection becomes. Default: nothing. */
  readonly onState?: (connection: Connection) => void
}

/** Reads a stream until `signal` aborts, and connects again after each end of it. */
export async function keepConnected(
  { path, onMessage, onRefused, onState }: Stream,
  signal: AbortSignal,
): Promise<void> {
  let wait: number = waitMs.least
  while (!signal.aborted) {
    await shown(signal)
    const stop = new AbortController()
    const end = (): void => stop.abort()
    signal.addEventListener('abort', end)
    const stopWatching = whenHidden(() => {
      onState?.({ is: 'paused' })
      stop.abort()
    })
    try {
      const onEvent: Stream['onMessage'] = (event, data, id) => {
        wait = waitMs.least
        onMessage(event, data, id)
      }
      const read = await readOnce(path(), onEvent, stop)
      if (read === 'refused') onRefused?.()
    } catch {
      // It is lost, or nobody wants it any more.
    }
    signal.removeEventListener('abort', end)
    stopWatching()
    if (signal.aborted || document.hidden) continue
    onState?.({ is: 'lost', since: Date.now() })
    // All tabs of all people come back at different moments.
    await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random())))
    wait = Math.min(waitMs.most, wait * 2)
  }
}

/** Reads the stream until it ends. `stop` aborts it, also if nothing comes any more. */
async function readOnce(
  path: string,
  onMessage: Stream['onMessage'],
  stop: AbortController,
): Promise<'ended' | 'refused'> {
  const answer = await fetch(path, {
    headers: { accept: 'text/event-stream', authorization: `Bearer ${token.read() ?? ''}` },
    credentials: 'omit',
    signal: stop.signal,
  })
  if (answer.status === 401) return 'refused'
  if (!answer.ok || answer.body === null) throw new Error(`The stream was refused with ${answer.status}.`)
  const parser = createParser({ onEvent: ({ event = '', data, id }) => onMessage(event, data, id) })
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  let silence: number | undefined
  try {
    for (;;) {
      // A machine that slept, or a proxy, may leave a line that is dead and open.
      silence = setTimeout(() => stop.abort(), silentMs)
      const { done, value } = await reader.read()
      clearTimeout(silence)
      if (done) return 'ended'
      parser.feed(value)
    }
  } finally {
    clearTimeout(silence)
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
