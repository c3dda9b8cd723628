// A `workflow:` tool without its file: one agent, whose output is the workflow's. It is refused an empty
// text.
import { sequentialWorkflow, type Workflow } from '@beaver/workflows'
import { z } from 'zod'

export function definition(id: string): Workflow {
  const input = z.strictObject({ text: z.string() })
  return {
    name: `workflow:${id}`,
    description: `Does ${id}.`,
    input,
    parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    plan(args) {
      const { data } = input.safeParse(args)
      if (data === undefined || data.text === '')
        return { ok: false, error: { code: 'invalid_arguments', message: '"text" is empty.', path: 'text' } }
      const planned = sequentialWorkflow.plan({
        task: data.text,
        agents: [{ name: 'a', instruction: 'do a' }],
      })
      return planned.ok ? { ok: true, graph: { ...planned.graph, workflow: `workflow:${id}` } } : planned
    },
  }
}
