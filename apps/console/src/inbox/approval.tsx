// A call that waits for a decision: exactly what would happen, and the ways to decide.
import { type FormEvent, type ReactNode, useState } from 'react'
import { useMay } from '../data/me.ts'
import { callName } from '../parts/command.ts'
import { Diff } from '../parts/diff.tsx'
import { Json } from '../parts/json.tsx'
import { useKeys } from '../parts/keys.ts'
import { Refusal } from '../parts/problem.tsx'
import { Block } from '../parts/text.tsx'
import { numberText } from '../parts/time.ts'
import { visible } from '../parts/visible.ts'
import { EditForm } from './edit-form.tsx'
import { type Entry, type EntryProps, type Settling, useSettle, verbPath } from './entry.ts'

type Call = Extract<Entry, { kind: 'approval' }>['call']
type Way = 'edit' | 'deny'

export function Approval({ entry, done }: EntryProps<'approval'>): ReactNode {
  const { call } = entry
  const may = useMay('approve')
  const settling = useSettle(done)
  const [way, setWay] = useState<Way | null>(null)
  const decide = (verb: 'approve' | 'deny', more: Readonly<Record<string, string>> = {}): Promise<void> =>
    settling.settle(
      verbPath(entry.task_id, verb),
      {
        call_id: callName(call),
        // The decision is about what is on this page, and about nothing else.
        ...(call.call_hash === null ? {} : { call_hash: call.call_hash }),
        ...more,
      },
      verb === 'deny'
        ? `You denied ${call.tool}.`
        : `You allowed ${call.tool}${more['arguments'] === undefined ? '' : ' with the arguments that you wrote'}.`,
    )
  const back = (): void => {
    setWay(null)
    settling.setProblem(null)
  }
  useKeys(
    !may || way !== null || settling.isBusy
      ? []
      : [
          { key: 'a', does: 'Allows the call', decides: true, run: () => void decide('approve') },
          ...(call.arguments === null
            ? []
            : [
                {
                  key: 'e',
                  does: 'Opens the arguments, so that you can change them and allow the call',
                  run: () => setWay('edit'),
                },
              ]),
          { key: 'd', does: 'Opens the reason, and denies the call', run: () => setWay('deny') },
        ],
  )
  return (
    <>
      <header className="page-head">
        <h2>
          {visible(call.agent_name ?? 'An agent')} wants to call <code>{visible(call.tool)}</code>
        </h2>
      </header>
      <Effect call={call} />
      <Refusal problem={settling.problem} />
      {!may ? (
        <p className="quiet">Your token may not decide: it does not have the role approve.</p>
      ) : way === null ? (
        <div className="buttons">
          <button
            type="button"
            className="main"
            disabled={settling.isBusy}
            onClick={() => void decide('approve')}
          >
            Allow <kbd>a</kbd>
          </button>
          <button
            type="button"
            disabled={settling.isBusy || call.arguments === null}
            onClick={() => setWay('edit')}
          >
            Edit and allow <kbd>e</kbd>
          </button>
          <button type="button" className="bad" disabled={settling.isBusy} onClick={() => setWay('deny')}>
            Deny <kbd>d</kbd>
          </button>
        </div>
      ) : way === 'edit' ? (
        <EditForm
          initial={call.arguments ?? '{}'}
          settling={settling}
          allow={(text) => void decide('approve', { arguments: text })}
          back={back}
        />
      ) : (
        <DenyForm settling={settling} deny={(more) => void decide('deny', more)} back={back} />
      )}
    </>
  )
}

/** What the call would do, as the daemon has worked it out, and its arguments. */
function Effect({ call }: { readonly call: Call }): ReactNode {
  const { preview } = call
  return (
    <>
      <section className="card">
        <Block text={call.subject} linesMax={10} />
        {call.rule === null ? null : <p className="quiet small">The rule that asks: {visible(call.rule)}</p>}
        {preview === null ? null : (
          <>
            <p>
              {visible(preview.effect)} <strong>{visible(preview.path)}</strong>, {numberText(preview.bytes)}{' '}
              bytes
              {preview.before === null ? '' : `, in place of ${numberText(preview.before.bytes)} bytes`}
            </p>
            {preview.diff === '' ? null : <Diff diff={preview.diff} leftOut={preview.diff_lines_left_out} />}
          </>
        )}
      </section>
      {call.arguments === null ? null : (
        <section className="card">
          <h3>Arguments</h3>
          <Json value={call.arguments} />
        </section>
      )}
      {call.call_hash === null ? null : (
        <p className="quiet small">
          The decision is about exactly this call: <code>{call.call_hash.slice(0, 16)}…</code>
        </p>
      )}
    </>
  )
}

interface DenyFormProps {
  readonly settling: Settling
  readonly deny: (more: Readonly<Record<string, string>>) => void
  readonly back: () => void
}

function DenyForm({ settling, deny, back }: DenyFormProps): ReactNode {
  const [text, setText] = useState('')
  const send = (event: Pick<FormEvent, 'preventDefault'>): void => {
    event.preventDefault()
    deny(text.trim() === '' ? {} : { reason: text.trim() })
  }
  return (
    <form className="ask" onSubmit={send}>
      <label htmlFor="decision-text">Why (the model reads it)</label>
      <textarea
        id="decision-text"
        // The person has just asked for this field.
        ref={(field) => {
          if (field !== null && document.activeElement !== field) field.focus()
        }}
        rows={3}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send(event)
          if (event.key === 'Escape') back()
        }}
      />
      <div className="buttons">
        <button type="button" onClick={back}>
          Back <kbd>Esc</kbd>
        </button>
        <button type="submit" className="bad" disabled={settling.isBusy}>
          Deny <kbd>Ctrl Enter</kbd>
        </button>
      </div>
    </form>
  )
}
