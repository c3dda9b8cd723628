// A workflow written in TypeScript: one agent reads a file of notes, a template puts its words under a
// heading. The program runs it as a task for each file, all at once; an agent could call it as the tool
// `workflow:digest`.
import { readdirSync } from 'node:fs'
import { AgentService, defineWorkflow } from '@beaver/service'

const digest = defineWorkflow({
  id: 'digest',
  description: 'Sums up one file of notes. Choose it when someone asks what notes say.',
  interfaceInputs: {
    path: { dataFlowType: 'STRING', required: true, description: 'The file, such as notes/monday.md.' },
  },
  interfaceOutputs: { digest: { dataFlowType: 'STRING' } },
  nodes: [
    {
      id: 'reader',
      kind: 'agent',
      instruction:
        'Call `read_file` with {"path": "{{ inputs.path }}"} and sum up the file in one sentence. Only what it says.',
      allowedToolNames: ['read_file'],
      requiredEvidence: [{ kind: 'tool_succeeded', tool: 'read_file' }],
    },
    { id: 'digest', kind: 'template', template: '## {{ inputs.path }}\n\n{{ nodes.reader.output }}' },
  ],
})

const workspace = import.meta.dirname
await using service = new AgentService({ workspace, workflows: [digest] })
await service.start()
const files = readdirSync(`${workspace}/notes`).toSorted()
const results = await Promise.all(
  files.map((file) =>
    service.submitDirect({ workflow: 'workflow:digest', arguments: { path: `notes/${file}` } }),
  ),
)
console.log(results.map(({ output_text }) => output_text).join('\n\n'))
