// Which workflows can be started with one text, and which of their inputs is for it. A person in a chat gives
// a workflow nothing else.
import type { JsonObject } from '@beaver/core'
import type { Workflow } from '@beaver/workflows'

/**
 * The input for a text of each workflow that needs nothing besides it. A workflow without one is left out.
 *
 * @param find the workflow with a name
 */
export function workflowTexts(
  names: readonly string[],
  find: (name: string) => Pick<Workflow, 'parameters'> | null,
): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const input = textInput(find(name)?.parameters ?? {})
      return input === null ? [] : [[name, input]]
    }),
  )
}

/**
 * The only required input, or the only input if none is required. `null`: it takes no free text, or there are
 * several.
 */
function textInput({ properties = {}, required = [] }: JsonObject): string | null {
  const all = Object.keys(properties as JsonObject)
  const needed = (required as readonly string[]).length === 0 ? all : (required as readonly string[])
  const [only = '', ...others] = needed
  const schema = (properties as Readonly<Record<string, JsonObject | undefined>>)[only]
  return others.length === 0 && schema?.['type'] === 'string' && schema['enum'] === undefined ? only : null
}
