// Everything that waits for a person, oldest first, on one page and by keyboard. A decision that somebody else
// has made meanwhile closes the entry, with who and when.
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { ask } from '../data/api.ts'
import { entryCommand } from '../parts/command.ts'
import { CopyCommand } from '../parts/copy-command.tsx'
import { Empty, Loading, Problem } from '../parts/problem.tsx'
import { Rows } from '../parts/rows.tsx'
import { Line } from '../parts/text.tsx'
import { visible } from '../parts/visible.ts'
import { When } from '../parts/when.tsx'
import { Approval } from './approval.tsx'
import { BudgetWait } from './budget-wait.tsx'
import { type Entry, type EntryProps, howItEnded, keyOf } from './entry.ts'
import { Question } from './question.tsx'
import '../parts/beside.css'
import './inbox.css'

export function Inbox(): ReactNode {
  const client = useQueryClient()
  const { at } = useSearch({ from: '/inbox' })
  const [chosen, setChosen] = useState<string | null>(at ?? null)
  const [said, setSaid] = useState<string | null>(null)
  const read = useInfiniteQuery({
    queryKey: ['inbox'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      ask('inbox', { limit: 100, ...(pageParam === undefined ? {} : { after: pageParam }) }, signal),
    getNextPageParam: ({ more, next }) => (more ? (next ?? undefined) : undefined),
  })
  const entries = useMemo(() => read.data?.pages.flatMap((page) => page.entries) ?? [], [read.data])
  const { hasNextPage, isFetching, fetchNextPage } = read
  const loadMore = useCallback(() => {
    if (!isFetching) void fetchNextPage()
  }, [isFetching, fetchNextPage])
  // An entry that somebody else settles is followed by none: a key that is about to be pressed would decide about
  // a call that this person has not read.
  const entry = entries.find((each) => chosen === null || keyOf(each) === chosen) ?? null
  const key = entry === null ? null : keyOf(entry)
  // Somebody else may settle what this person looks at. Then it is said who did, and when.
  const settled = useRef(new Set<string>())
  const looked = useRef<Entry | null>(null)
  // A link leads to an entry that may be on a later page.
  useEffect(() => {
    if (chosen !== null && chosen === at && looked.current === null && entry === null && hasNextPage)
      loadMore()
  }, [chosen, at, entry, hasNextPage, loadMore])
  useEffect(() => {
    const before = looked.current
    looked.current = entry
    // The entry that is shown first stays the chosen one.
    // oxlint-disable-next-line react/set-state-in-effect
    if (entry !== null && chosen === null) setChosen(keyOf(entry))
    if (before === null || settled.current.has(keyOf(before))) return
    if (entries.every((each) => keyOf(each) !== keyOf(before)))
      howItEnded(before).then(setSaid, () => setSaid('What you looked at does not wait any more.'))
  }, [entry, entries, chosen])
  // The next entry is chosen before the list without this one comes.
  const done = async (sentence: string): Promise<void> => {
    if (key !== null) settled.current.add(key)
    const at = entries.findIndex((each) => keyOf(each) === key)
    const next = entries[at + 1] ?? entries[at - 1]
    setChosen(next === undefined ? null : keyOf(next))
    setSaid(sentence)
    await client.invalidateQueries({ queryKey: ['inbox'] })
  }
  useEffect(() => {
    if (read.data !== undefined) document.title = `${read.data.pages[0]?.waiting ?? 0} waiting · Beaver`
    return () => void (document.title = 'Beaver')
  }, [read.data])

  if (read.error !== null)
    return (
      <section className="page">
        <Problem error={read.error} again={() => void read.refetch()} />
      </section>
    )
  if (read.data === undefined) return <Loading />
  return (
    <section className="page list beside inbox">
      <h1 className="hidden">Inbox</h1>
      <p className="said-last" role="status">
        {said}
      </p>
      {entries.length === 0 ? (
        <Empty title="Nothing waits for you.">
          Calls that need an approval, questions of agents and budgets that are used up come here.
        </Empty>
      ) : (
        <div className="panes">
          <Rows
            label="What waits, oldest first"
            kind="inbox-row"
            rows={entries}
            keyOf={keyOf}
            open={(each) => setChosen(keyOf(each))}
            onActive={(each) => setChosen(keyOf(each))}
            selected={key}
            more={hasNextPage}
            loadMore={loadMore}
            columns={columns}
            cells={(each) => <Cells entry={each} />}
          />
          <aside className="details" aria-label="What is asked">
            {entry === null ? (
              <Empty title="Choose what to answer next." />
            ) : (
              <EntryDetails key={key} entry={entry} done={done} />
            )}
          </aside>
        </div>
      )}
    </section>
  )
}

const columns = [['What waits'], ['Since', 'number']] as const

const kinds: Readonly<Record<Entry['kind'], string>> = {
  approval: 'Approval',
  question: 'Question',
  budget: 'Budget',
}

function Cells({ entry }: { readonly entry: Entry }): ReactNode {
  return (
    <>
      <span role="gridcell" className="what">
        <span className="name">
          <span className={`kind ${entry.kind}`}>{kinds[entry.kind]}</span>
          <Line text={asked(entry)} />
        </span>
        <span className="quiet small">
          <Line text={entry.title ?? entry.text ?? entry.task_id} />
        </span>
      </span>
      <span role="gridcell" className="number quiet">
        <When time={entry.asked_at} />
      </span>
    </>
  )
}

/** What is asked, in one line. */
function asked(entry: Entry): string {
  switch (entry.kind) {
    case 'approval':
      return `${entry.call.tool}: ${entry.call.subject}`
    case 'question':
      return entry.question.message
    case 'budget':
      return entry.budget.reason
    default:
      return entry satisfies never
  }
}

function EntryDetails({ entry, done }: EntryProps<Entry['kind']>): ReactNode {
  return (
    <>
      <p className="quiet">
        {kinds[entry.kind]} for{' '}
        <Link to="/tasks/$taskId" params={{ taskId: entry.task_id }} search={{}}>
          <span>{visible(entry.title ?? entry.text ?? entry.task_id)}</span>
        </Link>
        {entry.task_user_id === null ? '' : ` of ${entry.task_user_id}`}{' '}
        <CopyCommand command={entryCommand(entry)} />
      </p>
      {entry.kind === 'approval' ? (
        <Approval entry={entry} done={done} />
      ) : entry.kind === 'question' ? (
        <Question entry={entry} done={done} />
      ) : (
        <BudgetWait entry={entry} done={done} />
      )}
    </>
  )
}
