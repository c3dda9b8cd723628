// A dialog: the browser's own, which keeps the focus inside and closes with Escape.
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { ApiProblem } from '../data/api.ts'
import { Refusal } from './problem.tsx'

interface DialogProps {
  readonly title: string
  readonly children: ReactNode
  readonly close: () => void
}

function Dialog({ title, children, close }: DialogProps): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  return (
    <dialog ref={dialog} aria-label={title} onClose={close}>
      <h2>{title}</h2>
      {children}
    </dialog>
  )
}

export interface AskProps {
  readonly title: string
  /** What the button that does it says, such as "Cancel the task". */
  readonly verb: string
  readonly kind?: 'main' | 'bad'
  readonly children?: ReactNode
  /** Does it. What it throws is shown, and the dialog stays. */
  readonly act: () => Promise<void>
  readonly close: () => void
}

/** A dialog that does one thing, and says so if it was refused. */
export function Ask({ title, verb, kind = 'main', children, act, close }: AskProps): ReactNode {
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    try {
      await act()
      close()
    } catch (error) {
      setProblem(error instanceof ApiProblem ? error.message : String(error))
      setBusy(false)
    }
  }
  return (
    <Dialog title={title} close={close}>
      <form className="ask" onSubmit={(event) => void send(event)}>
        {children}
        <Refusal problem={problem} />
        <div className="buttons">
          <button type="button" onClick={close}>
            Close
          </button>
          <button type="submit" className={kind} disabled={isBusy}>
            {verb}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
