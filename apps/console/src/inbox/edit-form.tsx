// The arguments with which a call is made instead: a field for each, or all of them as JSON.
import { type FormEvent, type KeyboardEvent, type ReactNode, useMemo, useState } from 'react'
import { argumentFields, objectOf, readArguments } from '../parts/argument-values.ts'
import { visible } from '../parts/visible.ts'
import type { Settling } from './entry.ts'

export interface EditFormProps {
  /** The arguments as the model wrote them. */
  readonly initial: string
  readonly settling: Settling
  /** Makes the call with these arguments, which are a JSON object. */
  readonly allow: (text: string) => void
  readonly back: () => void
}

/** The person has just asked for this field, and wants to see all of it with its buttons. */
const focusFirst = (form: HTMLFormElement | null): void => {
  form?.querySelector('textarea')?.focus()
  form?.scrollIntoView({ block: 'nearest' })
}

const linesMax = 16
const linesOf = (text: string): number => Math.min(linesMax, text.split('\n').length)

export function EditForm({ initial, settling, allow, back }: EditFormProps): ReactNode {
  const fields = useMemo(() => argumentFields(initial), [initial])
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({})
  /** All arguments as JSON. `null`: each has a field. */
  const [json, setJson] = useState<string | null>(() => (fields === null ? pretty(initial) : null))
  const read = (): string | null => {
    if (json !== null) {
      if (objectOf(json) !== null) return json
      settling.setProblem('The arguments are no JSON object.')
      return null
    }
    const found = readArguments(fields ?? [], texts)
    if ('text' in found) return found.text
    settling.setProblem(`The argument ${found.fault} is no JSON.`)
    return null
  }
  const send = (event: Pick<FormEvent, 'preventDefault'>): void => {
    event.preventDefault()
    const text = read()
    if (text !== null) allow(text)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send(event)
    if (event.key === 'Escape') back()
  }
  return (
    <form className="ask" ref={focusFirst} onSubmit={send} onKeyDown={onKeyDown}>
      <h3>The arguments with which the call is made instead</h3>
      {json !== null ? (
        <textarea
          aria-label="All arguments as JSON"
          rows={10}
          spellCheck={false}
          value={json}
          onChange={({ target }) => setJson(target.value)}
        />
      ) : (
        fields?.map(({ name, kind, initial: first }) => (
          <label key={name} className="argument">
            <span>
              <code>{visible(name)}</code>
              {kind === 'json' ? <span className="quiet small"> as JSON</span> : null}
            </span>
            <textarea
              rows={linesOf(first)}
              spellCheck={false}
              value={texts[name] ?? first}
              onChange={({ target }) => setTexts((now) => ({ ...now, [name]: target.value }))}
            />
          </label>
        ))
      )}
      <div className="buttons">
        {json !== null ? null : (
          <button
            type="button"
            onClick={() => {
              const text = read()
              if (text !== null) setJson(text)
            }}
          >
            All as JSON
          </button>
        )}
        <button type="button" onClick={back}>
          Back <kbd>Esc</kbd>
        </button>
        <button type="submit" className="main" disabled={settling.isBusy}>
          Allow with these arguments <kbd>Ctrl Enter</kbd>
        </button>
      </div>
    </form>
  )
}

const pretty = (text: string): string => {
  const value = objectOf(text)
  return value === null ? text : JSON.stringify(value, null, 2)
}
