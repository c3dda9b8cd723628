import { AgentService, defineWorkflow } from '@beaver/service'

const essay = defineWorkflow({
  id: 'essay',
  description: 'Writes a sentence on a topic and checks it.',
  interfaceInputs: { topic: { dataFlowType: 'STRING', required: true } },
  interfaceOutputs: { check: { dataFlowType: 'STRING' } },
  nodes: [
    { id: 'draft', kind: 'agent', instruction: 'Write one sentence on {{ inputs.topic }}.' },
    { id: 'check', kind: 'agent', instruction: 'Check this sentence: {{ nodes.draft.output }}' },
  ],
})

await using service = new AgentService({ workflows: [essay] })
const { status } = await service.processDirect(
  { workflow: 'workflow:essay', arguments: { topic: 'the tides' } },
  { sessionId: 'thread-1' },
)
console.log(status)
