// Start a task: what is to be done, by a root agent or by a workflow whose graph is drawn before it runs. What is
// wrong is said at its field.
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { ApiProblem, request } from '../data/api.ts'
import { useMay, useMe } from '../data/me.ts'
import { newId } from '../data/new-id.ts'
import { useWorkflow } from '../library/loaded.ts'
import { type FormField, readForm, textsOf } from '../parts/form-values.ts'
import { Empty, Loading, Problem, Refusal } from '../parts/problem.tsx'
import { SchemaForm } from '../parts/schema-form.tsx'
import { Choice, MoreFields, RootFields } from './fields.tsx'
import { askPlan, type Plan, PlanView } from './plan.tsx'
import {
  type AskedFor,
  emptyForm,
  type FormFaults,
  formOf,
  refusedAt,
  type StartForm,
  startRequest,
} from './start-request.ts'
import './start.css'

type Arguments = Readonly<Record<string, unknown>>
type Texts = Readonly<Record<string, string>>

/** What the form begins with. */
interface Begin {
  readonly form: StartForm
  readonly arguments: Arguments
  /** What the form does not have of the task whose input it takes. */
  readonly lacks: string | null
}

export function Start(): ReactNode {
  const search = useSearch({ from: '/start' })
  const may = useMay('submit')
  const mayRead = useMay('read')
  const { again } = search
  const asked = useQuery({
    queryKey: ['event', again, 1],
    enabled: may && again !== undefined,
    queryFn: ({ signal }) =>
      request<{ event: { data: { request: AskedFor } | null } }>(
        `/api/v1/tasks/${encodeURIComponent(again ?? '')}/events/1`,
        { signal },
      ),
  })
  if (!may)
    return (
      <section className="page">
        <Empty title="Your token may not start tasks.">
          It does not have the role submit. Ask for a link of <code>beaver console --role submit</code>.
        </Empty>
      </section>
    )
  if (asked.error !== null)
    return (
      <section className="page">
        <Problem error={asked.error} again={() => void asked.refetch()} />
      </section>
    )
  if (again !== undefined && asked.data === undefined) return <Loading />
  const before = asked.data?.event.data?.request
  const { profile = '', skill = '', session = '' } = search
  // A form for a workflow needs its schema, which this token may not read.
  const workflow = mayRead ? (search.workflow ?? '') : ''
  const begin: Begin =
    before === undefined
      ? { form: { ...emptyForm, workflow, profile, skill, session }, arguments: {}, lacks: null }
      : {
          ...formOf(before),
          lacks:
            before.images === undefined
              ? null
              : 'The images of the task are not in this form. Choose them again.',
        }
  // Another link to this page begins another form.
  return <StartForm key={JSON.stringify(search)} begin={begin} />
}

/** What is wrong with the form. */
interface Wrong {
  readonly form: FormFaults
  readonly arguments: Texts
  readonly rest: string | null
}
const nothingWrong: Wrong = { form: {}, arguments: {}, rest: null }

function StartForm({ begin }: { readonly begin: Begin }): ReactNode {
  const navigate = useNavigate()
  const mayNameUser = useMe().user_id === null
  const mayRead = useMay('read')
  const [form, setForm] = useState(begin.form)
  const { entry, fields, error } = useWorkflow(form.workflow)
  const [written, setTexts] = useState<Texts>({})
  const given = useGiven(begin, form.workflow, fields)
  const texts = { ...given, ...written }
  const [drawn, setDrawn] = useState<{ readonly plan: Plan; readonly of: string } | null>(null)
  const { isBusy, during } = useOneAtATime()
  const { page, wrong, setWrong, refused } = useWrong()
  const keyOf = useKey()

  const set = (change: Partial<StartForm>): void => {
    setForm((now) => ({ ...now, ...change }))
    if (change.workflow === undefined) return
    setTexts({})
    setDrawn(null)
    setWrong(nothingWrong)
  }
  /** The arguments of the workflow. `null`: there is none. `undefined`: they cannot be read, and it is said. */
  const argumentsNow = (): Arguments | null | undefined => {
    if (form.workflow === '') return null
    const read = readForm(fields, texts)
    setWrong('faults' in read ? { ...nothingWrong, arguments: read.faults } : nothingWrong)
    return 'faults' in read ? undefined : read.value
  }
  const draw = (): void => {
    const now = argumentsNow()
    if (now === undefined || now === null) return
    void during(async () => {
      const plan = await askPlan(form.workflow, now)
      setDrawn(plan.ok ? { plan, of: JSON.stringify(now) } : null)
      if (!plan.ok)
        setWrong(
          refusedAt({
            message: plan.error.message,
            problems: [{ ...plan.error, path: `workflow.arguments.${plan.error.path}` }],
          }),
        )
    }, refused)
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const now = argumentsNow()
    if (now === undefined) return
    const made = startRequest(form, now)
    if ('faults' in made) return setWrong({ ...nothingWrong, form: made.faults })
    setWrong(nothingWrong)
    void during(async () => {
      const { task_id } = await request<{ task_id: string }>('/api/v1/tasks', {
        method: 'POST',
        body: made.body,
        headers: { 'idempotency-key': keyOf(made.body) },
      })
      await navigate({ to: '/tasks/$taskId', params: { taskId: task_id }, search: {} })
    }, refused)
  }
  const isKnown = form.workflow === '' || entry !== undefined
  return (
    <section className="page start">
      <h1>Start a task</h1>
      {begin.lacks === null ? null : <p className="why waits">{begin.lacks}</p>}
      <form ref={page} className="ask" noValidate onSubmit={submit}>
        {mayRead ? (
          <Choice
            form={form}
            faults={wrong.form}
            set={set}
            name="workflow"
            label="Who works on it"
            kind="workflow"
            empty="An agent, which may form a team"
          />
        ) : null}
        {form.workflow === '' ? (
          <RootFields form={form} faults={wrong.form} set={set} />
        ) : (
          <SchemaForm
            id="arguments"
            fields={fields}
            texts={texts}
            faults={wrong.arguments}
            set={(name, text) => setTexts((now) => ({ ...now, [name]: text }))}
          />
        )}
        {error === null ? null : <Problem error={error} />}
        <MoreFields form={form} faults={wrong.form} set={set} mayNameUser={mayNameUser} />
        <Refusal problem={wrong.rest} />
        <div className="buttons">
          {form.workflow === '' || !mayRead ? null : (
            <button type="button" disabled={isBusy || !isKnown} onClick={draw}>
              Draw its graph
            </button>
          )}
          <button type="submit" className="main" disabled={isBusy || !isKnown}>
            Start
          </button>
        </div>
      </form>
      {drawn?.plan.ok === true ? (
        <PlanView plan={drawn.plan} note={isDrawnOf(drawn.of, fields, texts) ? notRun : changedSince} />
      ) : null}
    </section>
  )
}

/** What is wrong with the form. Whoever cannot see the sentence is taken to its field. */
function useWrong() {
  const page = useRef<HTMLFormElement>(null)
  const [wrong, setWrong] = useState(nothingWrong)
  useEffect(() => {
    if (wrong !== nothingWrong) page.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [wrong])
  const refused = (fault: unknown): void => {
    if (!(fault instanceof ApiProblem))
      setWrong({ ...nothingWrong, rest: 'The page has a fault. Load it again.' })
    else if (fault.status === 0) setWrong({ ...nothingWrong, rest: noAnswer })
    else setWrong(refusedAt(fault))
  }
  return { page, wrong, setWrong, refused }
}

const noAnswer =
  'The gateway did not answer, so the task may have started. Press Start again: the same form starts one task.'
const notRun = 'Nothing has run.'
const changedSince = 'The form has changed since. Draw it again to see the new one.'

function isDrawnOf(drawnOf: string, fields: readonly FormField[], texts: Texts): boolean {
  const read = readForm(fields, texts)
  return 'value' in read && JSON.stringify(read.value) === drawnOf
}

/** The texts of the arguments that the form begins with. They belong to one workflow. */
function useGiven(begin: Begin, workflow: string, fields: readonly FormField[]): Texts {
  return workflow === begin.form.workflow ? textsOf(fields, begin.arguments) : {}
}

/** Does one thing at a time: what is asked for meanwhile, as by a second click, is not done. */
function useOneAtATime() {
  const [isBusy, setBusy] = useState(false)
  const is = useRef(false)
  const during = async (act: () => Promise<void>, refused: (fault: unknown) => void): Promise<void> => {
    if (is.current) return
    is.current = true
    setBusy(true)
    try {
      await act()
    } catch (fault) {
      refused(fault)
    }
    is.current = false
    setBusy(false)
  }
  return { isBusy, during }
}

/** One key for one request: the same form again, after no answer came, starts no second task. */
function useKey(): (body: object) => string {
  const sent = useRef({ text: '', key: '' })
  return (body) => {
    const text = JSON.stringify(body)
    if (sent.current.text !== text) sent.current = { text, key: newId() }
    return sent.current.key
  }
}
