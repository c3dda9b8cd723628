// Adds a workflow of the project to the tools of an agent profile: a choice and a button, for an admin (CT-19).
import type { RequestOutput } from '@beaver/contracts'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import { request } from '../data/api.ts'
import { useMay } from '../data/me.ts'
import { Problem } from '../parts/problem.tsx'
import { visible } from '../parts/visible.ts'
import { loadedQuery } from './loaded.ts'

/** @param props.profile the name of a profile that the daemon has loaded */
export function AddWorkflow({ profile }: { readonly profile: string }): ReactNode {
  const mayAdd = useMay('admin')
  return mayAdd ? <Form profile={profile} /> : null
}

function Form({ profile }: { readonly profile: string }): ReactNode {
  const client = useQueryClient()
  const [chosen, setChosen] = useState('')
  const read = useQuery(loadedQuery('workflow'))
  const add = useMutation({
    mutationFn: (workflow: string) =>
      request<RequestOutput<'profile.add_workflow'>>(
        `/api/v1/profiles/${encodeURIComponent(profile)}/workflows`,
        { method: 'POST', body: { workflow } },
      ),
    // The pages of the library show the profile with its tools.
    onSuccess: () => client.invalidateQueries({ queryKey: ['loaded'] }),
  })
  const workflows = (read.data?.entries ?? []).flatMap((entry) =>
    entry.kind === 'workflow' && entry.is_tool && !entry.profiles.includes(profile) ? [entry.name] : [],
  )
  const send = (event: FormEvent): void => {
    event.preventDefault()
    if (chosen !== '') add.mutate(chosen, { onSuccess: () => setChosen('') })
  }
  if (read.error !== null) return <Problem error={read.error} again={() => void read.refetch()} />
  return (
    <form className="add-workflow" onSubmit={send}>
      <label>
        Add a workflow{' '}
        <select value={chosen} onChange={({ target }) => setChosen(target.value)}>
          <option value="">Choose one</option>
          {workflows.map((name) => (
            <option key={name} value={name}>
              {visible(name)}
            </option>
          ))}
        </select>
      </label>{' '}
      <button type="submit" disabled={chosen === '' || add.isPending}>
        Add
      </button>
      {add.error === null ? null : <Problem error={add.error} />}
      <p role="status" className="quiet">
        {add.data === undefined ? null : saidOf(add.data)}
      </p>
    </form>
  )
}

function saidOf({ changed, made_list, workflow, file }: RequestOutput<'profile.add_workflow'>): string {
  if (!changed) return `The profile has ${visible(workflow)} already.`
  const list = made_list
    ? ' The profile had no list of tools. It now lists all that it had; a tool that comes later must be added.'
    : ''
  return `The next run can call ${visible(workflow)}. ${visible(file)} was changed.${list}`
}
