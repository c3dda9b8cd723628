import { AgentService, defineTool, defineWorkflow, z } from '@beaver/service'

const chargeCard = defineTool({
  name: 'charge_card',
  description: 'Charges the card of an order. Returns {"charge"}.',
  input: z.strictObject({ order: z.string() }),
  idempotent: true,
  run: ({ order }) => ({ charge: `charge-of-${order}` }),
})

const order = defineWorkflow({
  id: 'order',
  description: 'Charges an order and writes its receipt.',
  interfaceInputs: { id: { dataFlowType: 'STRING', required: true } },
  interfaceOutputs: { receipt: { dataFlowType: 'STRING' } },
  nodes: [
    { id: 'charge', kind: 'tool', tool: 'charge_card', arguments: { order: '{{ inputs.id }}' } },
    { id: 'receipt', kind: 'template', template: 'Paid with {{ nodes.charge.json.charge }}.' },
  ],
})

await using service = new AgentService({ tools: [chargeCard], workflows: [order] })
const { output_text } = await service.processDirect(
  { workflow: 'workflow:order', arguments: { id: '42' } },
  { taskId: 'order-42' },
)
console.log(output_text)
