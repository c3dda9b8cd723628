// The fields of the form of a new task, each with what is wrong with it. A field that only a root agent has is
// not shown for a workflow.
import type { LoadedKind } from '@beaver/contracts'
import { type ChangeEvent, type ReactNode, useState } from 'react'
import { useNames } from '../library/loaded.ts'
import { visible } from '../parts/visible.ts'
import type { ChosenImage, FormFaults, StartForm, TextField } from './start-request.ts'

export interface FieldsProps {
  readonly form: StartForm
  readonly faults: FormFaults
  readonly set: (change: Partial<StartForm>) => void
}

interface FieldProps extends FieldsProps {
  readonly name: TextField
  readonly label: string
  /** What the field takes, or what it means if it is empty. */
  readonly help?: string
}

const refusedBy = (name: keyof StartForm, faults: FormFaults) =>
  faults[name] === undefined ? {} : { 'aria-invalid': true, 'aria-describedby': `start-${name}-fault` }

const Fault = ({
  name,
  faults,
}: Pick<FieldsProps, 'faults'> & { readonly name: keyof StartForm }): ReactNode =>
  faults[name] === undefined ? null : (
    <p id={`start-${name}-fault`} className="why failed" role="alert">
      {visible(faults[name])}
    </p>
  )

function TextInput({ form, faults, set, name, label, help }: FieldProps): ReactNode {
  return (
    <div className="field">
      <label htmlFor={`start-${name}`}>{label}</label>
      <input
        id={`start-${name}`}
        {...refusedBy(name, faults)}
        value={form[name]}
        placeholder={help ?? ''}
        onChange={({ target }) => set({ [name]: target.value })}
      />
      <Fault name={name} faults={faults} />
    </div>
  )
}

function TextArea({
  rows,
  kind = '',
  ...field
}: FieldProps & { readonly rows: number; readonly kind?: string }): ReactNode {
  const { form, faults, set, name, label, help } = field
  return (
    <div className="field wide">
      <label htmlFor={`start-${name}`}>{label}</label>
      <textarea
        id={`start-${name}`}
        className={kind}
        rows={rows}
        {...refusedBy(name, faults)}
        value={form[name]}
        placeholder={help ?? ''}
        onChange={({ target }) => set({ [name]: target.value })}
      />
      <Fault name={name} faults={faults} />
    </div>
  )
}

/** A choice of what the daemon has loaded. A token that may not read what is loaded types the name. */
export function Choice({
  kind,
  empty,
  ...field
}: FieldProps & { readonly kind: LoadedKind; readonly empty: string }): ReactNode {
  const { form, faults, set, name, label } = field
  const value = form[name]
  const names = useNames(kind)
  if (names === null) return <TextInput {...field} help={empty} />
  const description = names.find(([each]) => each === value)?.[1] ?? ''
  return (
    <div className="field">
      <label htmlFor={`start-${name}`}>{label}</label>
      <select
        id={`start-${name}`}
        {...refusedBy(name, faults)}
        value={value}
        onChange={({ target }) => set({ [name]: target.value })}
      >
        <option value="">{empty}</option>
        {value === '' || names.some(([each]) => each === value) ? null : (
          <option value={value}>{visible(value)}</option>
        )}
        {names.map(([each]) => (
          <option key={each} value={each}>
            {visible(each)}
          </option>
        ))}
      </select>
      {description === '' ? null : <p className="quiet small">{visible(description)}</p>}
      <Fault name={name} faults={faults} />
    </div>
  )
}

/** What a root agent is asked. */
export const RootFields = (props: FieldsProps): ReactNode => (
  <>
    <TextArea {...props} name="text" label="What is to be done" rows={6} kind="prose" />
    <div className="two">
      <Choice {...props} name="profile" label="Profile" kind="profile" empty="The default profile" />
      <Choice {...props} name="skill" label="Skill" kind="skill" empty="Beaver may choose one" />
    </div>
  </>
)

const rare: readonly (readonly [TextField, string, string])[] = [
  ['title', 'Title', 'a name for lists'],
  ['workspace', 'Folder', 'an absolute path'],
  ['model', 'Model', 'a name in the configuration'],
  ['usd', 'At most, in US dollars', 'as configured'],
  ['tokens', 'At most, in tokens', 'as configured'],
  ['minutes', 'At most, in minutes of work', 'as configured'],
  ['session', 'Session', 'the id of one, to go on with it'],
  ['user', 'User', 'the id of the user for whom it is'],
]
const ofRoot: readonly (keyof StartForm)[] = ['model', 'schema', 'imagePaths', 'images']
const inMore: readonly (keyof StartForm)[] = [...rare.map(([name]) => name), ...ofRoot]

export function MoreFields({
  mayNameUser,
  ...props
}: FieldsProps & { readonly mayNameUser: boolean }): ReactNode {
  const { form, faults, set } = props
  const [isOpen, setOpen] = useState(() =>
    inMore.some((name) => typeof form[name] === 'string' && form[name] !== ''),
  )
  const isRoot = form.workflow === ''
  // A field that is refused is in sight.
  const isRefused = inMore.some((name) => faults[name] !== undefined)
  return (
    <details open={isOpen || isRefused} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {isRoot ? 'Title, folder, model, budget, images and form of the answer' : 'Title, folder and budget'}
      </summary>
      <div className="two">
        {rare.map(([name, label, help]) =>
          (name === 'user' && !mayNameUser) || (!isRoot && ofRoot.includes(name)) ? null : (
            <TextInput key={name} {...props} name={name} label={label} help={help} />
          ),
        )}
        {isRoot ? (
          <>
            <Images {...props} />
            <TextArea
              {...props}
              name="schema"
              label="JSON Schema of the answer"
              help="empty: any text"
              rows={3}
            />
          </>
        ) : null}
        <label className="box wide">
          <input
            type="checkbox"
            checked={form.stream}
            onChange={({ target }) => set({ stream: target.checked })}
          />
          Show answers while they are written
        </label>
      </div>
    </details>
  )
}

function Images(props: FieldsProps): ReactNode {
  const { form, faults, set } = props
  const choose = async ({ target }: ChangeEvent<HTMLInputElement>): Promise<void> => {
    const files = [...(target.files ?? [])]
    target.value = ''
    set({ images: [...form.images, ...(await Promise.all(files.map(chosenImage)))] })
  }
  return (
    <>
      <TextArea
        {...props}
        name="imagePaths"
        label="Images in the folder"
        help="a path in the folder on each line"
        rows={2}
      />
      <div className="field wide">
        <label htmlFor="start-images">Images of this machine</label>
        <input
          id="start-images"
          {...refusedBy('images', faults)}
          type="file"
          multiple
          accept="image/png,image/jpeg,image/gif,image/webp"
          onChange={(event) => void choose(event)}
        />
        {form.images.length === 0 ? null : (
          <ul className="chosen">
            {form.images.map((image) => (
              <li key={`${image.name} ${image.data.length}`} className="chip">
                {visible(image.name)}
                <button
                  type="button"
                  className="link"
                  aria-label={`Leave out ${visible(image.name)}`}
                  onClick={() => set({ images: form.images.filter((each) => each !== image) })}
                >
                  leave out
                </button>
              </li>
            ))}
          </ul>
        )}
        <Fault name="images" faults={faults} />
      </div>
    </>
  )
}

/** Reads a file. What the gateway does not take, such as a file that is too large, it refuses with a sentence. */
const chosenImage = (file: File): Promise<ChosenImage> =>
  new Promise((done, failed) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => {
      const url = typeof reader.result === 'string' ? reader.result : ''
      done({ name: file.name, data: url.slice(url.indexOf(',') + 1) })
    })
    reader.addEventListener('error', () => failed(reader.error ?? new Error(`${file.name} cannot be read.`)))
    reader.readAsDataURL(file)
  })
