// A button that shows what is on the page as a command for a terminal, and copies it. The command is shown before
// it is copied: it has names of strangers in it.
import { type ReactNode, useState } from 'react'
import type { CommandAt } from './command.ts'
import { Dialog } from './dialog.tsx'
import { useKeys } from './keys.ts'
import { Block, Copy } from './text.tsx'

export interface CopyCommandProps {
  /** `null`: there is no such command now. */
  readonly command: CommandAt | null
}

export function CopyCommand({ command }: CopyCommandProps): ReactNode {
  const [isOpen, setOpen] = useState(false)
  const open = (): void => setOpen(true)
  const close = (): void => setOpen(false)
  useKeys(command === null ? [] : [{ key: 'c', does: 'Shows the command for a terminal', run: open }])
  if (command === null) return null
  const { beaver, curl } = command(location.origin)
  return (
    <>
      <button type="button" className="quiet-button" onClick={open}>
        Copy as command
      </button>
      {isOpen ? (
        <Dialog title="The same in a terminal" kind="wide" close={close}>
          <div className="ask">
            {beaver === null ? null : <OneCommand text={beaver} what="beaver" />}
            <OneCommand text={curl} what="curl" />
            <p className="quiet small">
              If the shell does not know <code>beaver</code>, it is <code>bin/beaver</code> in the folder of
              Beaver. <code>$TOKEN</code> is a token of <code>beaver token create</code>.
            </p>
            <div className="buttons">
              <button type="button" onClick={close}>
                Close
              </button>
            </div>
          </div>
        </Dialog>
      ) : null}
    </>
  )
}

const OneCommand = ({ text, what }: { readonly text: string; readonly what: string }): ReactNode => (
  <div className="one-command">
    <Block text={text} />
    <Copy text={text} what={`Copy the command of ${what}`} />
  </div>
)
