// The consumer: what somebody who installed the package would write. The build runs it outside the workspace.
import { packageName, pathsWithPeers, subPaths } from './published.ts'

/** Prints `planned researcher, writer`. */
export const consumerProgram = `import { AgentService, BeaverError } from '${packageName}'
import { clientOn, connectBeaver } from '${packageName}/client'
import { findWorkflow, graphToMermaid } from '${packageName}/workflows'

for (const value of [AgentService, BeaverError, connectBeaver, clientOn]) if (typeof value !== 'function') throw new Error('an export is missing')
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

/** Imports a sub-path and prints what it left running, as JSON: nothing. The streams of the process do not count. */
export const importProgram = (path: string): string => `void [process.stdin, process.stdout, process.stderr]
const before = process.getActiveResourcesInfo().length
await import('${packageName}${path.slice(1)}')
console.log(JSON.stringify(process.getActiveResourcesInfo().slice(before)))
`

/** Sub-paths without a library that a user adds. */
export const pathsWithoutPeers = Object.keys(subPaths).filter((path) => !(path in pathsWithPeers))

/** Imports the sub-paths whose packages a user adds, and prints a line for each: the code of the error. */
export const peersProgram = `for (const path of ${JSON.stringify(Object.keys(pathsWithPeers))})
  await import('${packageName}' + path.slice(1)).then(
    () => console.log(path + ' loads'),
    ({ code, message }) => console.log(path, code, /: npm install \\S+@\\^\\d/.test(message)),
  )
`

/** Embeds the runtime, with a tool of its own. Prints `completed: 5`. */
export const consumerEmbedding = `import { AgentService, defineTool, z } from '${packageName}'

let sum = 0
const add = defineTool({ name: 'add', description: 'Adds.', input: z.strictObject({ a: z.number(), b: z.number() }), run: ({ a, b }) => (sum = a + b) })
await using service = new AgentService({ tools: [add] })
const { status } = await service.processDirect('Call \`add\` with {"a": 2, "b": 3}.')
console.log(status + ': ' + sum)
`

/** A tool in a folder where nothing is installed. */
export const lonelyTool = `import { defineTool, z } from '${packageName}/tool'

export const half = defineTool({ name: 'half', description: 'Halves.', input: z.strictObject({ n: z.number() }), pure: true, run: ({ n }: { n: number }): string => \`\${n} / 2 = \${n / 2}\` })
`

/** Uses the types of every sub-path. */
export const consumerTypes = `import { AgentService, BeaverError, defineTool, type ErrorCode, z } from '${packageName}'
import { ChatSdkChannel } from '${packageName}/chat'
import { checkJournal } from '${packageName}/check'
import { type BeaverClient, connectBeaver } from '${packageName}/client'
import { EmailChannel } from '${packageName}/email'
import { createApp } from '${packageName}/http'
import type { Journal } from '${packageName}/journal'
import { type ToolContext, ToolFailure } from '${packageName}/tool'
import { findWorkflow, type PlanResult, teamReport } from '${packageName}/workflows'

export const planned: PlanResult | undefined = findWorkflow('SequentialWorkflow')?.plan({})
export const code: ErrorCode = new BeaverError('timeout', 'late').code
// @ts-expect-error: there is no such code, so the types are really there
export const wrong: ErrorCode = 'nonsense'
// @ts-expect-error: a journal is no client, so neither is \`any\`
export const confused = (journal: Journal): BeaverClient => journal
export const workspaceOf = (context: ToolContext): string => context.workspace
export const all = [AgentService, ChatSdkChannel, checkJournal, EmailChannel, createApp, teamReport, ToolFailure]
export const half = defineTool({ name: 'half', description: 'Halves.', input: z.strictObject({ n: z.number() }), run: ({ n }) => String(n / 2) })
declare module '${packageName}' {
  interface WorkflowArguments {
    'workflow:review': { readonly text: string }
  }
}
export async function submit(): Promise<string> {
  await using beaver = await connectBeaver({ url: 'nats://127.0.0.1:4222', namespace: 'default', tenant: 'local' })
  await beaver.submit({ workflow: 'workflow:review', arguments: { text: 'A draft' } })
  // @ts-expect-error: the workflow has no such argument
  await beaver.submit({ workflow: 'workflow:review', arguments: { txt: 'A draft' } })
  return (await beaver.submit({ task: 'Report' })).task_id
}
`

/** The same for the AI SDK, whose own types need types that it does not bring. */
export const aiSdkTypes = `import { aiSdkModel } from '${packageName}/ai-sdk'

export const name: string = aiSdkModel.name
`
