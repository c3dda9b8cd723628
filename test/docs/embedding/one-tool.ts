import { AgentService, defineTool, z } from '@beaver/service'

const nextTrain = defineTool({
  name: 'next_train',
  description: 'Says when the next train leaves a station. Returns {"leaves"}.',
  input: z.strictObject({ station: z.string() }),
  run: ({ station }) => ({ leaves: station === 'Bremen' ? '14:10' : 'unknown' }),
})

await using service = new AgentService({ tools: [nextTrain] })
const { output_text } = await service.processDirect('Call `next_train` with {"station": "Bremen"}.')
console.log(output_text)
