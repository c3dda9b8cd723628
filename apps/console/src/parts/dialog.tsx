// A dialog: the browser's own, which keeps the focus inside and closes with Escape.
import { type FormEvent, type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { ApiProblem } from '../data/api.ts'
import { Refusal } from './problem.tsx'

export interface DialogProps {
  readonly title: string
  /** The class of the dialog. Default: none. */
  readonly kind?: string
  readonly children: ReactNode
  readonly close: () => void
  /** Whether Escape does nothing, because something is under way. Default: it closes. */
  readonly isBusy?: boolean
}

export function Dialog({ title, kind, children, close, isBusy = false }: DialogProps): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const own = dialog.current
    own?.showModal()
    // While it is still on the page, so that the focus goes back to where it was.
    return () => own?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      className={kind}
      aria-label={title}
      onClose={() => {
        if (dialog.current?.open !== true) close()
      }}
      onCancel={(event) => {
        if (isBusy) event.preventDefault()
      }}
      onKeyDown={(event) => {
        // The key that opened the dialog may still be held, and must not send it.
        if (event.key === 'Enter' && event.repeat) event.preventDefault()
      }}
    >
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
