// A call that waits for a decision: exactly what would happen, and the ways to decide.
import { type FormEvent, type ReactNode, useEffect, useState } from 'react'
import { ApiProblem, request } from '../data/api.ts'
import { useMay } from '../data/me.ts'
import { Diff } from '../parts/diff.tsx'
import { JsonText } from '../parts/json.tsx'
import { Block, Line } from '../parts/text.tsx'
import { numberText } from '../parts/time.ts'
import type { EntryProps } from './page.tsx'

type Way = 'edit' | 'deny'

export function Approval({ entry, done, refused }: EntryProps<'approval'>): ReactNode {
  const { call } = entry
  const may = useMay('approve')
  const [way, setWay] = useState<Way | null>(null)
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)

  const decide = async (
    verb: 'approve' | 'deny',
    more: Readonly<Record<string, string>> = {},
  ): Promise<void> => {
    setBusy(true)
    setProblem(null)
    try {
      await request(`/api/v1/tasks/${encodeURIComponent(entry.task_id)}/${verb}`, {
        method: 'POST',
        body: {
          // Two runs may use the same id for a call.
          call_id: call.run_id === null ? call.call_id : `${call.run_id}/${call.call_id}`,
          ...(call.call_hash === null ? {} : { call_hash: call.call_hash }),
          ...more,
        },
      })
      await done(verb === 'approve' ? `You allowed ${call.tool}.` : `You denied ${call.tool}.`)
    } catch (error) {
      setBusy(false)
      await refused(error).catch((left: unknown) =>
        setProblem(left instanceof ApiProblem ? left.message : 'The page has a fault. Load it again.'),
      )
    }
  }
  const edit = (): void => {
    setText(pretty(call.arguments ?? '{}'))
    setWay('edit')
  }
  useEffect(() => {
    if (!may || way !== null) return
    const onKey = (event: KeyboardEvent): void => {
      const isTyping =
        event.target instanceof Element && event.target.closest('input, textarea, select, dialog')
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || isBusy) return
      if (event.key === 'a') void decide('approve')
      else if (event.key === 'e') edit()
      else if (event.key === 'd') setWay('deny')
      else return
      event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  })
  const send = (event: FormEvent): void => {
    event.preventDefault()
    if (way === 'deny') void decide('deny', text.trim() === '' ? {} : { reason: text.trim() })
    else if (isJson(text)) void decide('approve', { arguments: text })
    else setProblem('The arguments are no JSON object.')
  }
  return (
    <>
      <header className="page-head">
        <h2>
          {call.agent_name ?? 'An agent'} wants to call <code>{call.tool}</code>
        </h2>
      </header>
      <section className="card">
        <Block text={call.subject} linesMax={10} />
        {call.rule === null ? null : <p className="quiet small">The rule that asks: {call.rule}</p>}
        {call.preview === null ? null : (
          <>
            <p>
              {call.preview.effect} <strong>{call.preview.path}</strong>, {numberText(call.preview.bytes)}{' '}
              bytes
              {call.preview.before === null
                ? ''
                : `, in place of ${numberText(call.preview.before.bytes)} bytes`}
            </p>
            {call.preview.diff === '' ? null : (
              <Diff diff={call.preview.diff} leftOut={call.preview.diff_lines_left_out} />
            )}
          </>
        )}
      </section>
      {call.arguments === null ? null : (
        <section className="card">
          <h3>Arguments</h3>
          <JsonText text={call.arguments} />
        </section>
      )}
      {call.call_hash === null ? null : (
        <p className="quiet small">
          The decision is about exactly this call: <code>{call.call_hash.slice(0, 16)}…</code>
        </p>
      )}
      {problem === null ? null : (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      {!may ? (
        <p className="quiet">Your token may not decide: it does not have the role approve.</p>
      ) : way === null ? (
        <div className="buttons decide">
          <button type="button" className="main" disabled={isBusy} onClick={() => void decide('approve')}>
            Allow <kbd>a</kbd>
          </button>
          <button type="button" disabled={isBusy || call.arguments === null} onClick={edit}>
            Edit and allow <kbd>e</kbd>
          </button>
          <button type="button" className="bad" disabled={isBusy} onClick={() => setWay('deny')}>
            Deny <kbd>d</kbd>
          </button>
        </div>
      ) : (
        <form className="ask" onSubmit={send}>
          <label htmlFor="decision-text">
            {way === 'edit'
              ? 'The arguments with which the call is made instead'
              : 'Why (the model reads it)'}
          </label>
          <textarea
            id="decision-text"
            // The person has just asked for this field.
            ref={(field) => field?.focus()}
            rows={way === 'edit' ? 10 : 3}
            spellCheck={way === 'deny'}
            value={text}
            onChange={({ target }) => setText(target.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send(event)
            }}
          />
          <div className="buttons">
            <button
              type="button"
              onClick={() => {
                setWay(null)
                setText('')
                setProblem(null)
              }}
            >
              Back
            </button>
            <button type="submit" className={way === 'edit' ? 'main' : 'bad'} disabled={isBusy}>
              {way === 'edit' ? 'Allow with these arguments' : 'Deny'}
            </button>
          </div>
        </form>
      )}
      <p className="hidden">
        <Line text={call.call_id} />
      </p>
    </>
  )
}

const isJson = (text: string): boolean => {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

const pretty = (text: string): string => (isJson(text) ? JSON.stringify(JSON.parse(text), null, 2) : text)
