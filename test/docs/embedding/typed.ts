import { AgentService, type ChatProvider, UnfitOutputError, z } from '@beaver/service'

const counter: ChatProvider = {
  name: 'counter',
  model: 'counter-1',
  async chat({ messages }) {
    const total = messages.at(-1)?.content?.includes('new') ? 2 : 300
    const content = JSON.stringify({ day: '2026-11-27T09:00:00Z', total })
    return {
      content,
      toolCalls: [],
      finishReason: 'stop',
      usage: { input_tokens: 9, output_tokens: 4, calls: 1 },
      model: 'counter-1',
      responseId: null,
    }
  },
}

const report = z.object({ day: z.coerce.date(), total: z.number().refine((n) => n < 100, 'is too much') })
await using service = new AgentService({ models: { main: counter } })
const { output } = await service.processDirect('How many files are new?', { output: report })
console.log(output)
try {
  await service.processDirect('How many files are there?', { output: report })
} catch (error) {
  if (!(error instanceof UnfitOutputError)) throw error
  console.log(error.problems, error.output_text)
}
