// A question of an agent or of a tool: options, a text of one's own, or a form.
import { askUserTool } from '@beaver/core/question'
import { type FormEvent, type ReactNode, useMemo, useState } from 'react'
import { useMay } from '../data/me.ts'
import { callName } from '../parts/command.ts'
import { type FieldSchema, fieldsOf, readForm } from '../parts/form-values.ts'
import { Refusal } from '../parts/problem.tsx'
import { SchemaForm } from '../parts/schema-form.tsx'
import { Block } from '../parts/text.tsx'
import { visible } from '../parts/visible.ts'
import { When } from '../parts/when.tsx'
import { type EntryProps, useSettle, verbPath } from './entry.ts'

type Answer =
  | { readonly action: 'accept'; readonly answers: readonly string[] }
  | { readonly action: 'accept'; readonly content: Readonly<Record<string, unknown>> }
  | { readonly action: 'decline' }

export function Question({ entry, done }: EntryProps<'question'>): ReactNode {
  const { question } = entry
  // The role submit answers what an agent asks its user.
  const [maySubmit, mayApprove] = [useMay('submit'), useMay('approve')]
  const may = mayApprove || (maySubmit && question.tool === askUserTool)
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [own, setOwn] = useState('')
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({})
  const [faults, setFaults] = useState<Readonly<Record<string, string>>>({})
  const { isBusy, problem, setProblem, settle } = useSettle(done)
  const fields = useMemo(() => fieldsOf((question.form ?? {}) as FieldSchema), [question.form])

  const send = (answer: Answer): Promise<void> =>
    settle(
      verbPath(entry.task_id, 'answer'),
      { call_id: callName(question), question_index: question.question_index, answer },
      answer.action === 'accept' ? 'Your answer is in the record.' : 'You declined to answer.',
    )
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (question.form !== null) {
      const read = readForm(fields, texts)
      if ('faults' in read) setFaults(read.faults)
      else void send({ action: 'accept', content: read.value })
      return
    }
    const answers = [...chosen, ...(own.trim() === '' ? [] : [own.trim()])]
    if (answers.length === 0) setProblem('Choose an answer, or write one.')
    else void send({ action: 'accept', answers })
  }
  return (
    <form className="ask" onSubmit={submit}>
      <h2>{visible(question.agent_name ?? 'An agent')} asks</h2>
      <Block text={question.message} />
      {question.expires_at === null ? null : (
        <p className="quiet small">
          The question ends <When time={question.expires_at} />.
        </p>
      )}
      {question.options.length === 0 ? null : (
        <fieldset className="choices">
          <legend className="quiet">{question.several ? 'Choose one or more' : 'Choose one'}</legend>
          {question.options.map((option) => (
            <label key={option}>
              <input
                type={question.several ? 'checkbox' : 'radio'}
                name="option"
                checked={chosen.includes(option)}
                onChange={({ target }) => {
                  const rest = question.several ? chosen.filter((each) => each !== option) : []
                  setChosen(target.checked ? [...rest, option] : rest)
                }}
              />
              {visible(option)}
            </label>
          ))}
        </fieldset>
      )}
      {question.form === null ? null : (
        <SchemaForm
          id="question"
          fields={fields}
          texts={texts}
          faults={faults}
          set={(name, text) => setTexts((now) => ({ ...now, [name]: text }))}
        />
      )}
      {question.form !== null || !(question.free_text || question.options.length === 0) ? null : (
        <>
          <label htmlFor="own-answer">
            {question.options.length === 0 ? 'Your answer' : 'Or your own answer'}
          </label>
          <textarea id="own-answer" rows={3} value={own} onChange={({ target }) => setOwn(target.value)} />
        </>
      )}
      <Refusal problem={problem} />
      {may ? (
        <div className="buttons">
          <button type="button" disabled={isBusy} onClick={() => void send({ action: 'decline' })}>
            Decline
          </button>
          <button type="submit" className="main" disabled={isBusy}>
            Answer
          </button>
        </div>
      ) : (
        <p className="quiet">
          Your token may not answer: it does not have the role approve
          {question.tool === askUserTool ? ' or submit' : ''}.
        </p>
      )}
    </form>
  )
}
