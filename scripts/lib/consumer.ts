// The consumer: what somebody who installed the packages would write. The build runs it outside the
// workspace.

/** Prints `planned researcher, writer`. */
export const consumerProgram = `import { BeaverError, errorCodes } from '@beaver/core'
import { findWorkflow, graphToMermaid } from '@beaver/workflows'
import { clientOn, connectBeaver } from '@beaver/client'

for (const value of [BeaverError, connectBeaver, clientOn]) if (typeof value !== 'function') throw new Error('an export is missing')
if (errorCodes.internal.exit !== 1) throw new Error('the error codes are missing')
const planned = findWorkflow('SequentialWorkflow').plan({
  task: 'Report on the folder',
  agents: [
    { name: 'researcher', instruction: 'Collect' },
    { name: 'writer', instruction: 'Write' },
  ],
})
if (!planned.ok) throw new Error(JSON.stringify(planned))
if (!graphToMermaid(planned.graph).includes('researcher')) throw new Error('the diagram is empty')
console.log('planned ' + planned.graph.nodes.map((node) => node.node_id).join(', '))
`

/** Embeds the runtime, with a tool of its own. Prints `completed: 5`. */
export const consumerEmbedding = `import { AgentService, defineTool, z } from '@beaver/service'

let sum = 0
const add = defineTool({ name: 'add', description: 'Adds.', input: z.strictObject({ a: z.number(), b: z.number() }), run: ({ a, b }) => (sum = a + b) })
await using service = new AgentService({ tools: [add] })
const { status } = await service.processDirect('Call \`add\` with {"a": 2, "b": 3}.')
console.log(status + ': ' + sum)
`

/** Uses the types of every library. */
export const consumerTypes = `import { BeaverError, type ErrorCode } from '@beaver/core'
import type { ExecutionGraph } from '@beaver/core/graph'
import type { Journal } from '@beaver/core/journal'
import { findWorkflow, type PlanResult } from '@beaver/workflows'
import { type BeaverClient, connectBeaver } from '@beaver/client'
import type { ToolContext } from '@beaver/agent'

const planned: PlanResult | undefined = findWorkflow('SequentialWorkflow')?.plan({})
export const graph: ExecutionGraph | null = planned?.ok === true ? planned.graph : null
export const code: ErrorCode = new BeaverError('timeout', 'late').code
// @ts-expect-error: there is no such code, so the types are really there
export const wrong: ErrorCode = 'nonsense'
// @ts-expect-error: a journal is no client, so neither is \`any\`
export const confused = (journal: Journal): BeaverClient => journal
export const workspaceOf = (context: ToolContext): string => context.workspace
export async function submit(): Promise<string> {
  await using beaver = await connectBeaver({ url: 'nats://127.0.0.1:4222', namespace: 'default', tenant: 'local' })
  return (await beaver.submit({ task: 'Report' })).task_id
}
`
