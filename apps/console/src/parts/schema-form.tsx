// The fields of a form that a JSON Schema describes: arguments of a workflow, an answer to a question.
import type { ReactNode } from 'react'
import type { FormField } from './form-values.ts'
import { visible } from './visible.ts'

export interface SchemaFormProps {
  readonly fields: readonly FormField[]
  readonly texts: Readonly<Record<string, string>>
  readonly faults: Readonly<Record<string, string>>
  readonly set: (name: string, text: string) => void
  /** Makes the ids of the fields unique on the page. */
  readonly id: string
}

export const SchemaForm = ({ fields, texts, faults, set, id }: SchemaFormProps): ReactNode => (
  <div className="schema-form">
    {fields.map((field, at) => {
      const fault = faults[field.name]
      const faultId = `${id}-${at}-fault`
      return (
        <div key={field.name} className="field">
          <label htmlFor={`${id} ${field.name}`}>
            {visible(field.label)}
            {field.required ? null : <span className="quiet"> (may be empty)</span>}
          </label>
          {field.description === null ? null : <p className="quiet small">{visible(field.description)}</p>}
          <Input
            field={field}
            text={texts[field.name] ?? field.initial}
            set={(text) => set(field.name, text)}
            id={`${id} ${field.name}`}
            faultId={fault === undefined ? null : faultId}
          />
          {field.example === '' || (texts[field.name] ?? field.initial) !== '' ? null : (
            <button type="button" className="link example" onClick={() => set(field.name, field.example)}>
              Begin with an example
            </button>
          )}
          {fault === undefined ? null : (
            <p id={faultId} className="why failed" role="alert">
              {visible(fault)}
            </p>
          )}
        </div>
      )
    })}
  </div>
)

interface InputProps {
  readonly field: FormField
  readonly text: string
  readonly set: (text: string) => void
  readonly id: string
  /** The sentence that says what is wrong with it. `null`: nothing. */
  readonly faultId: string | null
}

function Input({ field, text, set, id, faultId }: InputProps): ReactNode {
  const { kind, choices, required } = field
  const refused = faultId === null ? {} : { 'aria-invalid': true, 'aria-describedby': faultId }
  switch (kind) {
    case 'line':
      return (
        <input
          id={id}
          {...refused}
          value={text}
          required={required}
          onChange={({ target }) => set(target.value)}
        />
      )
    case 'number':
      return (
        <input
          id={id}
          {...refused}
          inputMode="decimal"
          value={text}
          required={required}
          onChange={({ target }) => set(target.value)}
        />
      )
    case 'box':
      return (
        <input
          id={id}
          type="checkbox"
          checked={text === 'true'}
          onChange={({ target }) => set(target.checked ? 'true' : '')}
        />
      )
    case 'choice':
      return (
        <select
          id={id}
          {...refused}
          value={text}
          required={required}
          onChange={({ target }) => set(target.value)}
        >
          <option value="">Choose</option>
          {choices.map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      )
    case 'choices': {
      const chosen = new Set(text.split('\n').filter((each) => each !== ''))
      return (
        <div className="choices" id={id} role="group" aria-label={field.label}>
          {choices.map(([value, title]) => (
            <label key={value}>
              <input
                type="checkbox"
                checked={chosen.has(value)}
                onChange={({ target }) => {
                  const next = new Set(chosen)
                  if (target.checked) next.add(value)
                  else next.delete(value)
                  set([...next].join('\n'))
                }}
              />
              {title}
            </label>
          ))}
        </div>
      )
    }
    case 'lines':
    case 'json':
      return (
        <textarea
          id={id}
          {...refused}
          rows={kind === 'json' ? 6 : 3}
          value={text}
          required={required}
          spellCheck={kind === 'lines'}
          onChange={({ target }) => set(target.value)}
        />
      )
    default:
      return kind satisfies never
  }
}
