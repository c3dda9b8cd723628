// What a daemon has loaded, as questions of a page.
import type { LoadedAnswer, LoadedEntry, LoadedKind } from '@beaver/contracts'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { request } from '../data/api.ts'
import { useMay } from '../data/me.ts'
import { pathOf } from '../data/paths.ts'
import { type FieldSchema, fieldsOf, type FormField } from '../parts/form-values.ts'

/** At most so many entries of one kind are listed. */
const listedMax = 500

/** The entries of one kind, without their texts. */
export const loadedQuery = (kind: LoadedKind) =>
  queryOptions({
    queryKey: ['loaded', kind],
    queryFn: ({ signal }) =>
      request<LoadedAnswer>(pathOf('/api/v1/loaded', { kind, limit: listedMax }), { signal }),
  })

/** One entry, with its texts and its schema. */
export const entryQuery = (kind: LoadedKind, name: string) =>
  queryOptions({
    queryKey: ['loaded', kind, name],
    queryFn: ({ signal }) => request<LoadedAnswer>(pathOf('/api/v1/loaded', { kind, name }), { signal }),
  })

/**
 * What can be named in a new task. Empty while it is not known yet. `null`: this token may not know it, or the
 * daemon does not answer.
 */
export function useNames(kind: LoadedKind): readonly (readonly [name: string, description: string])[] | null {
  const mayRead = useMay('read')
  const { data, error } = useQuery({ ...loadedQuery(kind), enabled: mayRead })
  return useMemo(
    () =>
      !mayRead || error !== null
        ? null
        : (data?.entries ?? []).map((entry) => [entry.name, 'description' in entry ? entry.description : '']),
    [mayRead, data, error],
  )
}

export type Workflow = Extract<LoadedEntry, { kind: 'workflow' }>

export interface WorkflowRead {
  /** `undefined`: not known yet, or there is none of this name. */
  readonly entry: Workflow | undefined
  /** Empty: the workflow takes nothing, or its schema is not known. */
  readonly fields: readonly FormField[]
  readonly error: Error | null
}

/** The fields of the arguments of a workflow. An empty name asks for none. */
export function useWorkflow(name: string): WorkflowRead {
  const mayRead = useMay('read')
  const { data, error } = useQuery({ ...entryQuery('workflow', name), enabled: mayRead && name !== '' })
  return useMemo(() => {
    const entry = data?.entries.find((each) => each.kind === 'workflow')
    return { entry, fields: entry?.schema ? fieldsOf(entry.schema as FieldSchema) : [], error }
  }, [data, error])
}
