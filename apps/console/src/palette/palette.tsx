// The palette: one field that leads to a page, a task, a session, something of the library, or an action of the
// page. What it shows of others is text, and what could not be read is said, and is never "nothing found".
import type { LoadedAnswer } from '@beaver/contracts'
import { type UseQueryResult, useQueries } from '@tanstack/react-query'
import { useNavigate, useRouter } from '@tanstack/react-router'
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { ApiProblem, ask, request } from '../data/api.ts'
import { Dialog } from '../parts/dialog.tsx'
import type { SaidAction } from '../parts/keys.ts'
import { Line } from '../parts/text.tsx'
import { type Choice, fitting, moved, offered } from './choices.ts'
import { Keys } from './help.tsx'
import './palette.css'

export interface PaletteProps {
  /** What one can do on the page and everywhere, as it was when the palette was opened. */
  readonly actions: readonly SaidAction[]
  /** Whether the console has the page of the library. */
  readonly hasLibrary: boolean
  readonly close: () => void
}

export function Palette({ actions, hasLibrary, close }: PaletteProps): ReactNode {
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState<string | null>(null)
  const list = useRef<HTMLDivElement>(null)
  const asked = useLater(typed.trim(), 150)
  const { found, isBusy, problems } = useFound(asked, hasLibrary)
  const ofPage = useMemo(() => actions.map(actionChoice), [actions])
  const all = useAllTasks(typed.trim())
  // What was found for other words is not what the person sees and takes.
  const choices = [...fitting(ofPage, typed), ...(asked === typed.trim() ? found : []), ...all]
  // The line is chosen by its id, so that it stays the same line when others come before it.
  const at = offered(choices, chosen)
  const take = (choice: Choice | undefined): void => {
    if (choice === undefined) return
    close()
    choice.run()
  }
  const onKey = (event: KeyboardEvent): void => {
    // A key that is held opened the palette, and must not take what it offers.
    if (event.nativeEvent.isComposing || (event.key === 'Enter' && event.repeat)) return
    const to = moved(event.key, at, choices.length)
    if (to !== null) {
      setChosen(choices[to]?.id ?? null)
      list.current?.querySelector(`#${optionId(to)}`)?.scrollIntoView({ block: 'nearest' })
    } else if (event.key === 'Enter') take(choices[at])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Go to, or do" kind="palette" close={close}>
      <input
        type="text"
        role="combobox"
        aria-label="Go to, or do"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-autocomplete="list"
        aria-activedescendant={at === -1 ? undefined : optionId(at)}
        placeholder="A page, a task, a session, words, or what to do"
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={({ target }) => {
          setTyped(target.value)
          setChosen(null)
        }}
        onKeyDown={onKey}
      />
      <div id="palette-list" role="listbox" aria-label="What was found" ref={list} tabIndex={-1}>
        {choices.map((choice, index) => (
          <Option
            key={choice.id}
            choice={choice}
            index={index}
            isChosen={index === at}
            take={() => take(choice)}
          />
        ))}
      </div>
      {problems.map((problem) => (
        <p key={problem} className="problem" role="alert">
          {problem}
        </p>
      ))}
      <p className="quiet small" role="status">
        {isBusy || asked !== typed.trim()
          ? 'Looking …'
          : typed.trim() === '' || problems.length > 0
            ? null
            : `${choices.length - all.length} found`}
      </p>
    </Dialog>
  )
}

const optionId = (at: number): string => `palette-option-${at}`

const actionChoice = ({ key, does, place, decides, run }: SaidAction): Choice => ({
  id: `action ${place} ${key} ${does}`,
  kind: does.startsWith('Goes to') ? 'Page' : 'Action',
  title: does,
  more: null,
  key,
  decides,
  run,
})

interface OptionProps {
  readonly choice: Choice
  readonly index: number
  readonly isChosen: boolean
  readonly take: () => void
}

const Option = ({ choice: { kind, title, more, key }, index, isChosen, take }: OptionProps): ReactNode => (
  // The field has the focus, and its keys choose.
  <div
    id={optionId(index)}
    role="option"
    aria-selected={isChosen}
    className="option"
    tabIndex={-1}
    onClick={take}
  >
    <span className="kind-of">{kind}</span>
    <span className="what">
      <Line text={title} />
      {more === null ? null : (
        <span className="quiet small">
          <Line text={more} />
        </span>
      )}
    </span>
    {key === null ? null : (
      <span className="quiet small">
        <Keys name={key} />
      </span>
    )}
  </div>
)

/** The text, when it has not changed for a moment: not every letter is a request. */
function useLater(text: string, ms: number): string {
  const [later, setLater] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setLater(text), ms)
    return () => clearTimeout(timer)
  }, [text, ms])
  return later
}

/** The last line: the list of all tasks with these words. */
function useAllTasks(text: string): readonly Choice[] {
  const navigate = useNavigate()
  if (text === '') return []
  const title = `Shows all tasks with the words ${text}`
  const run = (): void => void navigate({ to: '/', search: { text } })
  return [{ id: 'all tasks', kind: 'Tasks', title, more: null, key: null, run }]
}

interface Found {
  readonly found: readonly Choice[]
  readonly isBusy: boolean
  /** What could not be read, in sentences. */
  readonly problems: readonly string[]
}

/** So many lines of each kind are enough: a longer text finds the rest. */
const linesMax = 8

/** What the gateway knows for these words. Nothing is kept after the palette is closed. */
function useFound(text: string, hasLibrary: boolean): Found {
  const open = useOpen()
  const some = { enabled: text !== '', staleTime: 0, gcTime: 0, retry: false } as const
  const [tasks, hits, sessions, session, loaded] = useQueries({
    queries: [
      {
        ...some,
        queryKey: ['palette', 'tasks', text],
        queryFn: ({ signal }) => ask('tasks', { text, limit: linesMax }, signal),
      },
      {
        ...some,
        // Fewer letters are in nearly every text.
        enabled: text.length > 2,
        queryKey: ['palette', 'search', text],
        queryFn: ({ signal }) => ask('search', { query: text, limit: linesMax }, signal),
      },
      {
        ...some,
        queryKey: ['palette', 'sessions'],
        queryFn: ({ signal }) => ask('sessions', { limit: 200 }, signal),
      },
      {
        ...some,
        // The beginning of an id is enough, and an older session is not among the newest ones.
        enabled: /^\S{4,128}$/.test(text),
        queryKey: ['palette', 'session', text],
        queryFn: ({ signal }) => orNone(ask('session', { session_id: text, limit: 1 }, signal)),
      },
      {
        ...some,
        enabled: text !== '' && hasLibrary,
        queryKey: ['palette', 'loaded'],
        queryFn: ({ signal }) => request<LoadedAnswer>('/api/v1/loaded?limit=500', { signal }),
      },
    ],
  })
  const ofSession = [
    ...(session.data === undefined || session.data === null ? [] : [session.data.session]),
    ...(sessions.data?.sessions ?? []),
  ]
  const known = new Map(ofSession.map((each) => [each.session_id, each]))
  const found = [
    ...(tasks.data?.tasks ?? []).map((task) =>
      choiceOf('Task', task.task_id, {
        title: task.title ?? task.text ?? task.task_id,
        more: `${task.status.replaceAll('_', ' ')} · ${task.task_id}`,
        run: () => open.task(task.task_id),
      }),
    ),
    ...fitting(
      [...known.values()].map((each) =>
        choiceOf('Session', each.session_id, {
          title: each.title ?? each.text ?? each.session_id,
          more: each.session_id,
          run: () => open.session(each.session_id),
        }),
      ),
      text,
    ).slice(0, linesMax),
    ...fitting(
      (loaded.data?.entries ?? []).map(({ kind, name, ...entry }) =>
        choiceOf(loadedKinds[kind], name, {
          title: name,
          more: 'description' in entry ? entry.description : null,
          run: () => open.loaded(kind, name),
        }),
      ),
      text,
    ).slice(0, linesMax),
    ...(hits.data?.hits ?? []).map((hit) =>
      choiceOf('Said', `${hit.task_id} ${hit.taskseq}`, {
        title: hit.snippet,
        more: `${hit.agent_name ?? hit.name ?? hit.role} · event ${hit.taskseq} of ${hit.task_id}`,
        run: () => open.task(hit.task_id, hit.taskseq),
      }),
    ),
  ]
  const asks = [
    ['The tasks', tasks],
    ['The texts of tasks', hits],
    ['The sessions', sessions],
    ['The sessions', session],
    ['The library', loaded],
  ] as const satisfies readonly (readonly [string, UseQueryResult])[]
  return {
    found: text === '' ? [] : found,
    isBusy: asks.some(([, { isFetching }]) => isFetching),
    problems: [
      ...new Set(asks.flatMap(([what, { error }]) => (error === null ? [] : problemOf(what, error)))),
    ],
  }
}

const loadedKinds = {
  skill: 'Skill',
  profile: 'Profile',
  tool: 'Tool',
  workflow: 'Workflow',
  mcp_server: 'MCP server',
} as const satisfies Readonly<Record<LoadedAnswer['entries'][number]['kind'], string>>

const choiceOf = (kind: string, id: string, rest: Pick<Choice, 'title' | 'more' | 'run'>): Choice => ({
  id: `${kind} ${id}`,
  kind,
  key: null,
  ...rest,
})

/** No session has this id, or several begin so: neither is a fault. */
const orNone = <Answer,>(answer: Promise<Answer>): Promise<Answer | null> =>
  answer.catch((error: unknown) => {
    if (error instanceof ApiProblem && (error.status === 404 || error.code === 'invalid_arguments'))
      return null
    throw error
  })

const problemOf = (what: string, error: Error): string =>
  `${what} could not be read. ${error instanceof ApiProblem ? error.message : 'The page has a fault. Load it again.'}`

function useOpen() {
  const navigate = useNavigate()
  const router = useRouter()
  return {
    task: (taskId: string, event?: number): void =>
      void navigate({
        to: '/tasks/$taskId',
        params: { taskId },
        search: event === undefined ? {} : { view: 'events', event },
      }),
    session: (sessionId: string): void =>
      void navigate({ to: '/sessions/$sessionId', params: { sessionId } }),
    loaded: (kind: string, name: string): void =>
      router.history.push(`/console/library${router.options.stringifySearch({ kind, name })}`),
  }
}
