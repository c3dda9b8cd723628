// The keys of the page and of everywhere, as the page has said them.
import { type ReactNode, useState } from 'react'
import { Dialog } from '../parts/dialog.tsx'
import { type SaidAction, singleKeys } from '../parts/keys.ts'
import './palette.css'

export interface HelpProps {
  /** The actions of the moment at which the help was opened. */
  readonly actions: readonly SaidAction[]
  readonly close: () => void
}

export function Help({ actions, close }: HelpProps): ReactNode {
  const [areOn, setOn] = useState(singleKeys.areOn)
  const withKey = actions.filter(
    ({ key }, at) => key !== null && actions.findIndex((each) => each.key === key) === at,
  )
  return (
    <Dialog title="Keys" kind="help" close={close}>
      <div className="help-lists">
        {(['page', 'everywhere'] as const).map((place) => (
          <KeyList
            key={place}
            title={place === 'page' ? 'On this page' : 'Everywhere'}
            actions={withKey.filter((each) => each.place === place)}
          />
        ))}
      </div>
      <p className="quiet small">
        The arrow keys move inside a list, a tree and a graph. Enter opens a row. Keys do nothing while you
        write into a field, and a key that you hold acts once.
      </p>
      <label className="tick">
        <input
          type="checkbox"
          checked={areOn}
          onChange={({ target }) => {
            singleKeys.set(target.checked)
            setOn(target.checked)
          }}
        />
        Keys without Ctrl act
      </label>
      <div className="buttons">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

function KeyList({
  title,
  actions,
}: {
  readonly title: string
  readonly actions: readonly SaidAction[]
}): ReactNode {
  return (
    <section>
      <h3>{title}</h3>
      {actions.length === 0 ? (
        <p className="quiet">This page has no keys of its own.</p>
      ) : (
        <dl>
          {actions.map(({ key, does }) => (
            <div key={key} className="pair">
              <dt>
                <Keys name={key ?? ''} />
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  )
}

/** The name of a key, such as `g t` or `Ctrl+k`, as keys. */
export const Keys = ({ name }: { readonly name: string }): ReactNode =>
  name.split(/[ +]/).map((each, at) => (
    <span key={each}>
      {at === 0 ? '' : name.includes('+') ? ' + ' : ' then '}
      <kbd>{each.length === 1 && name.includes('+') ? each.toUpperCase() : each}</kbd>
    </span>
  ))
